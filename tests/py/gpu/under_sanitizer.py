# SPDX-License-Identifier: Apache-2.0
"""Every kernel of the suite as workers on its small case, for compute-sanitizer to look at. By hand:

compute-sanitizer --tool memcheck --error-exitcode 9 python tests/py/gpu/under_sanitizer.py
compute-sanitizer --tool racecheck --error-exitcode 9 python tests/py/gpu/under_sanitizer.py
compute-sanitizer --tool synccheck --error-exitcode 9 python tests/py/gpu/under_sanitizer.py
"""

import sys

from gpushare.suite import KERNELS
from gpushare.suite_check import outputs_on_gpu


def mistakes_of(name):
    """What is wrong with the results of the worker."""
    case = KERNELS[name].case("small")
    outputs, _ = outputs_on_gpu(KERNELS[name], case, "cuda:0", preemptible=True)
    return case.mistakes(outputs)


if __name__ == "__main__":
    names = sys.argv[1:] or list(KERNELS)
    wrong = {name: mistakes for name in names if (mistakes := mistakes_of(name))}
    print(f"{len(names)} kernels, wrong: {wrong or 'none'}")
    sys.exit(bool(wrong))
