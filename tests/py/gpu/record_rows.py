# SPDX-License-Identifier: Apache-2.0
"""Records rows of launches on a GPU for tests/py/test_predictors_on_silicon.py, which follows them where there is none.

Run it by hand, after what a GPU reports of launches has changed: python tests/py/gpu/record_rows.py
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import recorded_rows

from gpushare import _core
from gpushare.backends.cuda.device import cuda_device
from gpushare.backends.cuda.run import CudaRunner
from gpushare.model.workload import Application, Launch, Workload
from gpushare.suite import KERNELS

LAUNCHES = 5


def main():
    """Every kernel of the suite alone, five launches in a row, under fifo."""
    runner = CudaRunner(cuda_device("cuda:0"))
    events = {}
    for name in KERNELS:
        prepared = runner.prepare(Workload(name, (Application(name, LAUNCHES * (Launch.of_suite(name),)),)))
        runner.warm_up(prepared)
        run = runner.run(prepared, "fifo", 0, record=True)
        residency = _core.max_residency(run.device, prepared.core.applications[0].operations[0].kernel)
        events[name, residency] = recorded_rows.events_of(run.trace)
    recorded_rows.save(events)


if __name__ == "__main__":
    main()
