# SPDX-License-Identifier: Apache-2.0
"""Profiles kernels without a profile before they run with others, as in Slate's first run of a kernel."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence

from gpushare._core import InvalidInput
from gpushare.backends.base import Backend
from gpushare.backends.cuda.device import CudaDevice
from gpushare.checks import require
from gpushare.kernels.entry_names import demangled
from gpushare.model.operation import Launch
from gpushare.model.workload import Workload
from gpushare.profile.lookup import SIMULATED, kernel_profile, simulated_stand_in
from gpushare.profile.record import KernelProfile
from gpushare.profile.store import ProfileStore
from gpushare.profiling.measure_and_keep import measure_and_keep
from gpushare.profiling.targets import largest_launches, target_of

ENTRY = re.compile(r"\.entry\s+([\w$]+).*?^\}", re.MULTILINE | re.DOTALL)
UNSET_VARIABLE = re.compile(
    r"^\s*(?:\.(?:visible|weak|extern|common)\s+)*\.global\s[^;={]*?([\w$]+)(?:\[\d*\])*\s*;", re.MULTILINE
)
"""Variables of the module without an initializer; their values persist between launches."""


def profile_before_runs(workloads: Sequence[Workload], backend: Backend, progress: bool | None = None) -> None:
    """Before anything runs, and names those kernels of which no profile can be had.

    Raises:
        InvalidInput: a simulated device can measure nothing, or a launch is of a model.
    """
    gpu = backend.gpu
    if gpu is None:
        raise InvalidInput(
            "profile_missing measures kernels, which a simulated device cannot: take device='cuda:0', or leave it out. "
            "Kernels run there by their models, CUDA code by the profiles that a GPU has made"
        )
    for each in workloads:
        each.require_real()
    for name, why in measure_missing(workloads, gpu, progress).items():
        warnings.warn(f"{name!r} is left without a profile: {why}", stacklevel=2)


def measure_missing(workloads: Iterable[Workload], device: CudaDevice, progress: bool | None = None) -> dict[str, str]:
    """Measures the kernels of the workloads that have no profile for this GPU, and stores the profiles.

    The GPU must not be in use otherwise.

    Returns:
        By name, the reason why a kernel has no profile.

    Raises:
        InvalidInput: policies cannot use profiles of this GPU.
        CompileError: a kernel does not compile.
        CudaError: a kernel faulted or does not end.
    """
    gpu = device.description.name
    require(
        simulated_stand_in(gpu) is not None,
        f"profile_missing: policies cannot use profiles of {gpu}, since the bandwidth of its memory is not known; "
        f"they can for {', '.join(SIMULATED.values())}",
    )
    missing = [each for each in largest_launches(workloads) if _profile_of(each, gpu) is None]
    reasons = {each: _why_not(each, device) for each in missing}
    targets = [target_of(each) for each, why in reasons.items() if why is None]
    _, failures = measure_and_keep(device, targets, ProfileStore(), progress)
    for each, why in reasons.items():
        if why is None:
            device.unload(each.cuda.kernel)
    return failures | {each.kernel.name: why for each, why in reasons.items() if why is not None}


def _profile_of(launch: Launch, gpu: str) -> KernelProfile | None:
    kernel, _, block = launch.cuda
    return kernel_profile(kernel, block, gpu)


def _why_not(launch: Launch, device: CudaDevice) -> str | None:
    """The reason why a profile would be of no use, or why the kernel cannot be repeated."""
    compiled = device.compiled(launch.cuda.kernel)
    if compiled.refusal is not None:
        return f"it runs as a whole: {compiled.refusal}"
    kept = variables_of_its_own(compiled.ptx, compiled.symbol)
    return f"its results depend on earlier launches, through {', '.join(kept)}" if kept else None


def variables_of_its_own(ptx: str, symbol: str) -> list[str]:
    r"""The variables in device memory through which a launch can depend on earlier ones.

    >>> variables_of_its_own(".global .align 4 .u32 turn;\n.entry k()\n{\natom.global.add.u32 %r1, [turn], 1;\n}", "k")
    ['turn']
    >>> variables_of_its_own(".global .align 4 .b8 table[4] = {1};\n.entry k()\n{\nmov.u64 %rd1, table;\n}", "k")
    []
    """
    code = ENTRY.sub(lambda entry: entry[0] if entry[1] == symbol else "", ptx)
    names = [found[1] for found in UNSET_VARIABLE.finditer(code)]
    # Headers declare hundreds that are not used.
    used = [name for name in names if len(re.findall(rf"(?<![\w$]){re.escape(name)}(?![\w$])", code)) > 1]
    return [demangled(name) or name for name in used]
