# SPDX-License-Identifier: Apache-2.0
"""Every kernel of the suite as workers on its small case, for compute-sanitizer to look at. By hand:

compute-sanitizer --tool memcheck --error-exitcode 9 python tests/py/gpu/under_sanitizer.py
compute-sanitizer --tool racecheck --error-exitcode 9 python tests/py/gpu/under_sanitizer.py
compute-sanitizer --tool synccheck --error-exitcode 9 python tests/py/gpu/under_sanitizer.py

With --preempted quotas change at random all the time, so that workers leave and others come in their
place.
"""

import argparse
import sys

from odd_policies import Stress

import gpushare as gs
from gpushare.backends.cuda.device import cuda_device
from gpushare.backends.cuda.run import CudaRunner
from gpushare.suite import KERNELS
from gpushare.validation.suite_kernels import outputs_on_gpu

TIMEOUT_S = 600
RUNS = 5
"""A small case is soon over; with other quotas each time."""


def mistakes_of(name):
    """What is wrong with the results of the worker."""
    case = KERNELS[name].case("small")
    outputs, _ = outputs_on_gpu(KERNELS[name], case, "cuda:0", preemptible=True)
    return case.mistakes(outputs)


def mistakes_if_preempted(name):
    """Likewise, of workers that have to leave again and again."""
    runner = CudaRunner(cuda_device("cuda:0"), timeout_s=TIMEOUT_S)
    launch = gs.Launch.of_suite(name, "small")
    prepared = runner.prepare(gs.Workload(name, [gs.Application(name, [launch])]))
    case = KERNELS[name].case("small")
    mistakes = []
    for seed in range(RUNS):
        runner.run(prepared, Stress(seed), seed, record=False)
        arrays = prepared.loaded[launch].arguments
        outputs = {each.name: arrays[at].numpy() for at, each in enumerate(case.arguments) if each.is_output}
        mistakes += case.mistakes(outputs)
    return mistakes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", default=list(KERNELS), help="of the suite; all if left out")
    parser.add_argument("--preempted", action="store_true")
    options = parser.parse_args()
    check = mistakes_if_preempted if options.preempted else mistakes_of
    wrong = {name: mistakes for name in options.kernels if (mistakes := check(name))}
    print(f"{len(options.kernels)} kernels, wrong: {wrong or 'none'}")
    sys.exit(bool(wrong))
