# SPDX-License-Identifier: Apache-2.0
"""Schedules CUDA kernels from several applications on one GPU under a policy, and compares policies.

>>> import gpushare as gs
>>> pairs = gs.bundled_workload("ercbench").pairs()
>>> result = gs.compare(pairs[:3], policies=["fifo", "srtf"])
>>> bool(result.metrics().loc["srtf", "antt"] < result.metrics().loc["fifo", "antt"])
True
"""

from typing import TYPE_CHECKING, Any

from gpushare import reports as reports  # what results, runs and workloads are shown by
from gpushare import suite
from gpushare._core import (
    Cancelled,
    CudaError,
    Device,
    DeviceError,
    Event,
    EventKind,
    InvalidInput,
    PolicyError,
    RunningLaunch,
    SimpleSlicing,
    State,
)
from gpushare.arguments.launch_arguments import Zeros
from gpushare.clash import warn_of_clash
from gpushare.compare import compare, placements, policies
from gpushare.connect import connect
from gpushare.daemon.errors import DaemonGoneError, DeviceLostError, ProtocolError, RefusedError, WorkerLostError
from gpushare.device import device
from gpushare.kernels.compile_error import CompileError
from gpushare.kernels.compiled_kernel import CompiledKernel
from gpushare.kernels.kernel import Kernel
from gpushare.kernels.module import Module
from gpushare.kernels.transform import make_preemptible
from gpushare.model.arrivals import Arrivals
from gpushare.model.devices import device_names
from gpushare.model.host_pace import HostPace
from gpushare.model.kernel_model import KernelModel
from gpushare.model.load import load
from gpushare.model.merged_workloads import together
from gpushare.model.request_trace import Tokens
from gpushare.model.workload import Application, Copy, Launch, Workload, bundled_workload
from gpushare.policy import Plan, Policy
from gpushare.profiling.known import profile_of
from gpushare.results.executor_lost import ExecutorLostError
from gpushare.results.result import Result
from gpushare.results.run import Run
from gpushare.run import run
from gpushare.session.session import Session
from gpushare.sweep.sweep import Sweep
from gpushare.version import __version__ as __version__

if TYPE_CHECKING:
    from gpushare.results.server_trace import ServerTrace

warn_of_clash()


def __getattr__(name: str) -> Any:
    """Imports what needs a library that most programs do without."""
    if name == "ServerTrace":
        from gpushare.results.server_trace import ServerTrace

        return ServerTrace
    raise AttributeError(f"module 'gpushare' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Application",
    "Arrivals",
    "Cancelled",
    "CompileError",
    "CompiledKernel",
    "Copy",
    "CudaError",
    "DaemonGoneError",
    "Device",
    "DeviceError",
    "DeviceLostError",
    "Event",
    "EventKind",
    "ExecutorLostError",
    "HostPace",
    "InvalidInput",
    "Kernel",
    "KernelModel",
    "Launch",
    "Module",
    "Plan",
    "Policy",
    "PolicyError",
    "ProtocolError",
    "RefusedError",
    "Result",
    "Run",
    "RunningLaunch",
    "ServerTrace",
    "Session",
    "SimpleSlicing",
    "State",
    "Sweep",
    "Tokens",
    "WorkerLostError",
    "Workload",
    "Zeros",
    "bundled_workload",
    "compare",
    "connect",
    "device",
    "device_names",
    "load",
    "make_preemptible",
    "placements",
    "policies",
    "profile_of",
    "run",
    "suite",
    "together",
]
