# SPDX-License-Identifier: Apache-2.0
"""Every kernel of the suite compiles, becomes a worker and is assembled, and pays neither spills nor residency."""

import math

import pytest

import gpushare as gs
from gpushare.suite import KERNELS

CLAIM_BYTES = 80
BLOCK_INDEX_BYTES = 32  # where functions that are called ask for it
SOME = ["triad", "matrix_product", "scan_lookback", "philox_random"]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("GPUSHARE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "kernels of the suite"))


def compiled(name, arch="sm_90"):
    kernel = KERNELS[name]
    return gs.Kernel(kernel.source_path, kernel.entry).compile(arch)


def spills(usage):
    return usage.spill_stores, usage.spill_loads, usage.local_bytes


def residency(usage, case):
    return usage.blocks_per_sm(gs.device("h100"), math.prod(case.block), case.shared_bytes)


@pytest.mark.parametrize("name", KERNELS)
def test_becomes_a_worker_that_does_not_spill(name):
    kernel = compiled(name)
    assert kernel.refusal is None
    pairs = zip(spills(kernel.worker_usage), spills(kernel.original_usage), strict=True)
    assert all(worker <= original for worker, original in pairs)
    assert kernel.worker_usage.shared_bytes <= kernel.original_usage.shared_bytes + CLAIM_BYTES + BLOCK_INDEX_BYTES
    assert kernel.worker_usage.barriers <= 1


# Registers that workers may need with some releases of ptxas, beyond those of their kernels (32 and 34); held to these,
# they would spill.
MOST_REGISTERS = {"tpacf": 39, "ray_trace": 42}


@pytest.mark.parametrize("name", KERNELS)
def test_keeps_its_residency(name):
    kernel, case = compiled(name), KERNELS[name].case("small")
    if name in MOST_REGISTERS:
        assert kernel.worker_usage.registers <= MOST_REGISTERS[name]
    else:
        assert residency(kernel.worker_usage, case) >= residency(kernel.original_usage, case)


@pytest.mark.parametrize("name", KERNELS)
def test_takes_the_arguments_of_its_case(name):
    parameters = compiled(name).parameters
    arguments = KERNELS[name].case("small").arguments
    assert [each.kind == "pointer" for each in parameters] == [each.value.ndim > 0 for each in arguments]
    values = [each.value for each in arguments if each.value.ndim == 0]
    assert [each.size for each in parameters if each.kind != "pointer"] == [value.nbytes for value in values]


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("arch", ["sm_80", "sm_100"])
def test_other_architectures(name, arch):
    kernel = compiled(name, arch)
    assert kernel.refusal is None
    assert spills(kernel.worker_usage) <= spills(kernel.original_usage)
