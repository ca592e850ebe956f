# SPDX-License-Identifier: Apache-2.0
"""Every kernel of the suite on the PTX interpreter: right as it is, and the same to the byte when it is preempted."""

import functools
from dataclasses import replace

import numpy as np
import ptx_run
import pytest

from gpushare.suite import KERNELS
from gpushare.suite.case import UNWRITTEN

PLANS = [
    ptx_run.Workers(workers=workers, chunk=chunk, guide=guide, seed=10 * chunk + workers)
    for chunk, guide in ((1, 0), (3, 1), (8, 0))
    for workers in (2, 40)
]
"""Few and many workers; at most 6 are resident at a time."""

# The tests of a kernel share what its original leaves, so they run in one process.
every_kernel = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(f"{name} on the interpreter")) for name in KERNELS]
)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "kernels of the suite"))


@pytest.fixture(autouse=True)
def interpreter():
    return ptx_run.executable_or_skip()


@functools.cache
def original(name):
    """What the untransformed kernel makes of the small case."""
    return ptx_run.run_on_interpreter(KERNELS[name], KERNELS[name].case("small"))


@every_kernel
def test_is_right(name):
    assert KERNELS[name].case("small").mistakes(original(name)) == []


@every_kernel
def test_leaves_outputs_unlike_what_was_there(name):
    """Else a run that did nothing would be the same under workers, too."""
    before = {each.name: each.value for each in KERNELS[name].case("small").arguments if each.is_output}
    assert sorted(before) == sorted(ptx_run.differences(before, original(name)))


def with_other_old_outputs(case):
    """The case with other bytes in what the kernel is to write in full."""
    arguments = []
    for each in case.arguments:
        is_blank = each.value.ndim > 0 and np.all(each.value.reshape(-1).view(np.uint8) == UNWRITTEN)
        arguments.append(replace(each, value=np.zeros_like(each.value)) if is_blank and not each.is_updated else each)
    return replace(case, arguments=arguments)


@every_kernel
def test_depends_neither_on_the_order_of_threads_nor_on_old_outputs(name):
    case = with_other_old_outputs(KERNELS[name].case("small"))
    again = ptx_run.run_on_interpreter(KERNELS[name], case, ptx_run.Original(seed=2))
    assert ptx_run.differences(again, original(name)) == []


@every_kernel
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.workers} workers, chunk {plan.chunk}")
def test_workers_leave_the_same_bytes(name, plan):
    results = ptx_run.run_on_interpreter(KERNELS[name], KERNELS[name].case("small"), plan)
    assert ptx_run.differences(results, original(name)) == []


@every_kernel
def test_a_second_layer_does_the_same_work_again_where_the_suite_says_so(name):
    kernel, case = KERNELS[name], KERNELS[name].case("small")
    x, y, z = case.grid
    if z > 1:
        assert not kernel.is_layerable
        return
    once = ptx_run.run_with_figures(kernel, case, ptx_run.AS_IT_IS)[1]
    results, twice = ptx_run.run_with_figures(kernel, replace(case, grid=(x, y, 2)), ptx_run.AS_IT_IS)
    does_the_same = twice["instructions"] == 2 * once["instructions"] and case.mistakes(results) == []
    assert kernel.is_layerable == does_the_same
