# SPDX-License-Identifier: Apache-2.0
"""CuMAS's evaluation elsewhere, on a GPU above all: the suite's kernels, real copies, predicted and measured times.

python benchmarks/experiments/cumas_elsewhere.py --device cuda:0
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cumas_pieces import pieces_section
from cumas_scaled import (
    SCALE,
    Lengths,
    every_launch,
    lengths_in,
    modelled,
    permutations_of,
    scaled_applications,
)

from gpushare import _core
from gpushare._core import Device, PolicyError
from gpushare.backends.choice import backend_for, backend_named
from gpushare.backends.cuda.backend import CudaBackend
from gpushare.backends.cuda.copies import known_by_measured_copies, timed_copies
from gpushare.backends.cuda.device import cuda_device
from gpushare.backends.cuda.run import CudaRunner
from gpushare.compare import compare, compared_on
from gpushare.device import device as find_device
from gpushare.model.workload import Workload
from gpushare.reproduce.cumas.runs import PER_SET, policy_of
from gpushare.reproduce.reproduction import Reproduction, Section
from gpushare.results.result import Result

if TYPE_CHECKING:
    import pandas as pd

SHARING = "fifo:whole_up_to_ns=1e9"
"""No launch is preempted here, so launches run as original kernels, as in the paper."""
STREAMS, STRINGS, AS_WORKERS = "plain streams", "strings", "cumas, w = 12, as workers"
ONLY_ON_A_GPU = (STREAMS, AS_WORKERS)
POLICIES = {
    STREAMS: "hardware-streams",
    "arrival (fifo)": SHARING,
    STRINGS: policy_of("strings", "", SHARING),
    "strings, two tasks in kernels": policy_of("strings", ":kernels=2", SHARING),
    "cumas-dp, w = 12": policy_of("cumas-dp", ":window=12", SHARING),
    "cumas, w = 8": policy_of("cumas", ":window=8", SHARING),
    "cumas, w = 12": policy_of("cumas", ":window=12", SHARING),
    AS_WORKERS: policy_of("cumas", ":window=12"),
    "cumas, w = 12, two tasks in kernels": policy_of("cumas", ":window=12:kernels=2", SHARING),
}
TRIES = 9
"""Runs of a launch before it is timed: by then it has run in both execution modes and stays in the faster one."""
SIZES = tuple(1 << power for power in range(16, 27, 2))
"""Sizes of copies for the transfer model: 64 KB to 64 MB."""


@dataclass(frozen=True)
class Place:
    """The device of the evaluation.

    Attributes:
        name: the name as users write it.
        engines: the device with its measured copies, and no launch costs besides the launches' lengths.
        runner: runner of a GPU, which keeps kernels and data between comparisons.
        progress: as in :func:`gpushare.compare`.
    """

    name: str
    engines: Device
    runner: CudaRunner | None
    progress: bool | None

    @property
    def words(self) -> str:
        """Measured or simulated, and the device."""
        return f"Measured on {self.engines.name}" if self.runner else f"Simulated on {self.name}"

    def compare(self, workloads: Workload | list[Workload], policies: list[str]) -> Result:
        """One run of each."""
        listed = [workloads] if isinstance(workloads, Workload) else workloads
        backend = CudaBackend(self.name, runner=self.runner) if self.runner else backend_for(self.name, *listed)
        return without_errors(compared_on(backend, listed, policies, progress=self.progress))


def without_errors(result: Result) -> Result:
    """The result; PolicyError where a policy failed."""
    if result.errors:
        raise PolicyError(f"a policy failed, so that there is nothing to compare: {result.errors}")
    return result


def reproduce_on(device: str, *, quick: bool, progress: bool | None) -> Reproduction:
    """Fig. 8 with scaled applications, the transfer model, and copies in pieces."""
    place = place_of(device, progress)
    for _ in range(TRIES if place.runner else 0):
        place.compare(every_launch(), [SHARING])
    lengths = lengths_in(place.compare(every_launch(), [SHARING]).runs[0])
    workload = scaled_applications(lengths, 1e9 / place.engines.to_device.bandwidth_bytes_per_s)
    sections = [total_section(place, permutations_of(workload, 1 if quick else PER_SET), lengths)]
    if place.runner:
        sections.append(transfer_section(place))
    sections.append(pieces_section(place.compare, place.words))
    title = f"CuMAS: transfer-aware ordering (Belviranli et al. 2016), on {device}"
    return Reproduction(title, tuple(sections))


def place_of(device: str, progress: bool | None) -> Place:
    """A GPU's copies are those of its profile, else they are measured now."""
    gpu = backend_named(device).gpu
    if gpu is None:
        return Place(device, without_delays(find_device(device)), None, progress)
    return Place(device, without_delays(known_by_measured_copies(gpu)), CudaRunner(gpu), progress)


def without_delays(device: Device) -> Device:
    """The device for launches with lengths that include the delays."""
    return Device(
        name=device.name,
        sms=device.sms,
        clock_hz=device.clock_hz,
        per_sm=device.per_sm,
        granularity=device.granularity,
        off_sm=_core.OffSmBandwidth(),
        to_device=device.to_device,
        to_host=device.to_host,
        delays=_core.CommandDelays(),
    )


def total_times(result: Result) -> pd.DataFrame:
    """Total times in milliseconds: a row per permutation, a column per policy."""
    return result.per_workload()["makespan_ns"].unstack().loc[result.workloads, result.policies] / 1e6


def total_section(place: Place, orders: list[Workload], lengths: Lengths) -> Section:
    """Fig. 8: total times, speedups, and errors of the predictions."""
    import pandas as pd

    words = {name: policy for name, policy in POLICIES.items() if place.runner or name not in ONLY_ON_A_GPU}
    times = total_times(place.compare(orders, list(words.values())))
    models = [modelled(each, lengths, place.engines) for each in orders]
    ordered = [policy for policy in words.values() if "+" in policy]
    predicted = total_times(without_errors(compare(models, ordered, device=place.engines, progress=place.progress)))
    rows = {}
    for name, policy in words.items():
        row = {"total time, ms": times[policy].median()}
        for other in (STRINGS, STREAMS):
            if other in words:
                speedup = times[words[other]] / times[policy] - 1
                row |= {f"median speedup over {other}": speedup.median(), f"best over {other}": speedup.max()}
        if policy in predicted:
            error = (predicted[policy] / times[policy] - 1).abs()
            row |= {"predicted, ms": predicted[policy].median()}
            row |= {"median error": error.median(), "worst error": error.max()}
        rows[name] = row
    note = (
        f"{place.words}; medians over {len(orders)} permutations, one run each. Copies of Table 1 times {SCALE:g}, and "
        "kernels of the suite, launched so often that kernels and copies are in the proportion that they have on the "
        "simulated K40c; where one launch on much data would be too long, on little. On a GPU launches are left whole "
        "where that is not slower, except 'as workers', which could be preempted. 'Predicted' beforehand, under the "
        "same ordering: copies by the transfer model, a launch by how long it took alone, one at a time on the SMs; no "
        "prediction without an ordering."
    )
    return Section("Fig. 8: total time of the twelve applications", pd.DataFrame(rows).T, note)


def transfer_section(place: Place) -> Section:
    """Fig. 11: the transfer model on this GPU."""
    import pandas as pd

    rows = {}
    for direction in ("to_device", "to_host"):
        times = timed_copies(cuda_device(place.name), direction, SIZES)
        fit = _core.fit_transfer([float(size) for size in SIZES], [float(time) for time in times])
        errors = [abs(error) for error in fit.residuals]
        rows[direction] = {
            "GB/s": 1 / fit.ns_per_byte,
            "us before": fit.latency_ns / 1e3,
            "mean error": sum(errors) / len(errors),
            "worst error": max(errors),
        }
    note = (
        f"{place.words}, pinned memory, copies of 64 KB to 64 MB, medians of 5 each, by the host's clock. Time = a x + "
        "b; errors are of single sizes, with times that the fit used."
    )
    return Section("Fig. 11: transfer model", pd.DataFrame(rows).T, note)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="sim:h100")
    parser.add_argument("--quick", action="store_true", help="one permutation of each set")
    options = parser.parse_args()
    print(reproduce_on(options.device, quick=options.quick, progress=None).text())


if __name__ == "__main__":
    main()
