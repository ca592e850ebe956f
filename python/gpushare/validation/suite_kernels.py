# SPDX-License-Identifier: Apache-2.0
"""Checks a kernel of the suite on a GPU: the original against its reference, the worker against the original."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpushare.backends.cuda.device import cuda_device
from gpushare.kernels.kernel import Kernel
from gpushare.session.session import Session

if TYPE_CHECKING:
    from gpushare.suite import Case, SuiteKernel

TIMEOUT_S = 100.0


@dataclass(frozen=True)
class SuiteCheck:
    """The result of checking one kernel.

    Attributes:
        name: name of the kernel.
        refusal: why it has no worker; None if it has one.
        mistakes: errors of the original against the reference.
        differing: outputs of the worker that differ from the original's bytes.
    """

    name: str
    refusal: str | None
    mistakes: tuple[str, ...]
    differing: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether both the kernel and its worker are right."""
        return not self.mistakes and not self.differing


def check_on_gpu(kernel: SuiteKernel, size: str = "small", device: str = "cuda:0") -> SuiteCheck:
    """Runs the original and the worker under ``fifo``.

    Raises:
        InvalidInput: the device is not a GPU.
        CudaError: there is no such GPU, or the kernel failed.
    """
    case = kernel.case(size)
    original, _ = outputs_on_gpu(kernel, case, device, preemptible=False)
    worker, refusal = outputs_on_gpu(kernel, case, device, preemptible=True)
    differing = tuple(name for name, values in original.items() if values.tobytes() != worker[name].tobytes())
    return SuiteCheck(kernel.name, refusal, tuple(case.mistakes(original)), differing)


def outputs_on_gpu(
    kernel: SuiteKernel, case: Case, device: str, *, preemptible: bool
) -> tuple[dict[str, np.ndarray], str | None]:
    """The outputs of one launch by name, and why the kernel has no worker (None if it has one)."""
    on = cuda_device(device)  # a simulated device computes nothing
    code = Kernel(kernel.source_path, kernel.entry, preemptible=preemptible)
    with Session(on.name, "fifo", measure_alone=False) as session:
        arguments: list[Any] = [session.array(each.value) if each.value.ndim else each.value for each in case.arguments]
        job = session.application(kernel.name).submit(
            code, grid=case.grid, block=case.block, args=arguments, shared_bytes=case.shared_bytes
        )
        job.result(TIMEOUT_S)
        places = zip(case.arguments, arguments, strict=True)
        outputs = {each.name: array.numpy() for each, array in places if each.is_output}
        session.finish()
    return outputs, code.compile(on.core.architecture).refusal
