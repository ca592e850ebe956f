# SPDX-License-Identifier: Apache-2.0
"""Share one GPU among several applications under a policy, and see what each policy is worth.

>>> import gpushare as gs
>>> pairs = gs.bundled_workload("ercbench").pairs()
>>> result = gs.compare(pairs[:3], policies=["fifo", "srtf"])
>>> bool(result.metrics().loc["srtf", "antt"] < result.metrics().loc["fifo", "antt"])
True
"""

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
from gpushare.compare import compare, policies
from gpushare.compile_error import CompileError
from gpushare.compiled_kernel import CompiledKernel
from gpushare.connect import connect
from gpushare.daemon.errors import DaemonGoneError, DeviceLostError, ProtocolError, RefusedError, WorkerLostError
from gpushare.device import device, device_names
from gpushare.host_pace import HostPace
from gpushare.kernel import Kernel
from gpushare.kernel_model import KernelModel
from gpushare.launch_arguments import Zeros
from gpushare.module import Module
from gpushare.policy import Plan, Policy
from gpushare.profile import profile_of
from gpushare.result import Result
from gpushare.run import Run
from gpushare.session import Session
from gpushare.simulation import run
from gpushare.together import together
from gpushare.transform import make_preemptible
from gpushare.workload import Application, Copy, Launch, Workload, bundled_workload

__version__ = "0.1.0"

__all__ = [
    "Application",
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
    "Session",
    "SimpleSlicing",
    "State",
    "WorkerLostError",
    "Workload",
    "Zeros",
    "bundled_workload",
    "compare",
    "connect",
    "device",
    "device_names",
    "make_preemptible",
    "policies",
    "profile_of",
    "run",
    "together",
]
