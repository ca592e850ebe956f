# SPDX-License-Identifier: Apache-2.0
"""Every kernel of the suite as workers on its small case, for compute-sanitizer to look at. By hand:

compute-sanitizer --tool memcheck --error-exitcode 9 python tests/py/gpu/under_sanitizer.py
compute-sanitizer --tool racecheck --error-exitcode 9 python tests/py/gpu/under_sanitizer.py
compute-sanitizer --tool synccheck --error-exitcode 9 python tests/py/gpu/under_sanitizer.py
"""

import sys

import gpushare as gs
from gpushare.suite import KERNELS


def mistakes_of(name):
    """What is wrong with the results of the worker."""
    case = KERNELS[name].case("small")
    with gs.Session("cuda:0", "fifo", measure_alone=False) as session:
        arrays = [session.array(each.value) if each.value.ndim else each.value for each in case.arguments]
        kernel = gs.Kernel(KERNELS[name].source_path, KERNELS[name].entry)
        job = session.application(name).submit(
            kernel, grid=case.grid, block=case.block, args=arrays, shared_bytes=case.shared_bytes
        )
        job.result(100)
        outputs = {
            each.name: array.numpy() for each, array in zip(case.arguments, arrays, strict=True) if each.is_output
        }
        session.finish()
    return case.mistakes(outputs)


if __name__ == "__main__":
    names = sys.argv[1:] or list(KERNELS)
    wrong = {name: mistakes for name in names if (mistakes := mistakes_of(name))}
    print(f"{len(names)} kernels, wrong: {wrong or 'none'}")
    sys.exit(bool(wrong))
