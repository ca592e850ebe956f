# SPDX-License-Identifier: Apache-2.0
"""What every device does for gpushare. Only its backend knows whether a device is a GPU or a simulated one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, NamedTuple

from gpushare import _core
from gpushare._core import Device, InvalidInput, PolicyError
from gpushare.arguments.device_array import DeviceArray
from gpushare.model.operation import Launch
from gpushare.model.workload import Workload
from gpushare.policy import Policy
from gpushare.results.measured import Measured
from gpushare.results.run import Run

if TYPE_CHECKING:
    from gpushare.arguments.launch_geometry import Extent
    from gpushare.backends.cuda.device import CudaDevice
    from gpushare.backends.cuda.loaded_code import LoadedCode
    from gpushare.kernels.kernel import Kernel
    from gpushare.kernels.module_variables import ModuleVariable
    from gpushare.model.kernel_model import KernelModel

DEFAULT_PLACEMENT = "predicted"
DEFAULT_TIMEOUT_S = 60.0
TIMEOUTS_S = (0.001, 1e6)
AloneNs = tuple[float, float]
"""Per block with the whole device at work, and of the first one."""
Released = tuple[Callable[[], None], _core.ReleaseQueue]
"""What is called when a port has a kernel no more, and no launch, and the queue by way of which."""


class Case(NamedTuple):
    """One run of a comparison.

    Attributes:
        workload: what runs.
        policy: under which.
        seed: of the run; on a GPU which repeat it is.
        subject: the case in words, for messages.
    """

    workload: Workload
    policy: str | Policy
    seed: int
    subject: str


Outcome = Run | PolicyError | None
"""Of a case; None where an earlier case of its policy has failed, so that the backend has left it out."""
Pack = Callable[[Sequence[Run]], bytes]
"""Makes bytes of runs, in the process that has made them."""


class EndedTask(NamedTuple):
    """What an executor's task gave.

    Attributes:
        outcomes: of its cases, each with the case's place.
        packed: its runs as bytes, if that was asked for and there is a run.
    """

    outcomes: list[tuple[int, Outcome]]
    packed: bytes | None


class Backend(ABC):
    """A device, or the devices that the workloads of a comparison name."""

    baselines: Mapping[str, str] = {}
    """What the device offers without gpushare: the names under which it is compared, and what each does."""

    @property
    @abstractmethod
    def description(self) -> Device:
        """The device as schedulers see it."""

    @property
    def gpu(self) -> CudaDevice | None:
        """The GPU, on which kernels can be measured; None for a simulated device."""
        return None

    @abstractmethod
    def require_policy(self, policy: str | Policy) -> None:
        """Raise InvalidInput if the device cannot run anything under this policy."""

    @abstractmethod
    def cases(
        self, workloads: Sequence[Workload], policies: Sequence[str | Policy], repeats: int, seed: int
    ) -> list[Case]:
        """All runs of a comparison, in the order in which they are made.

        Raises:
            InvalidInput: a workload cannot run there.
        """

    @abstractmethod
    def run_all(self, cases: Sequence[Case], *, keep_traces: bool) -> Generator[tuple[Case, Outcome]]:
        """Makes the runs, and yields each case with what became of it, in order."""

    def run_on(self, executor: Executor, cases: Sequence[Case], *, keep_traces: bool) -> Generator[EndedTask]:
        """Makes the runs on an executor, as tasks of some runs each, and yields every task when it has ended.

        Raises:
            InvalidInput: the device is a GPU, or something cannot be pickled.
            ExecutorLostError: the executor has failed; what was done has been yielded.
        """
        raise InvalidInput("executor is for simulated devices: runs on a GPU are made one after the other, here")

    @abstractmethod
    def run(self, workload: Workload, policy: str | Policy, seed: int, *, record: bool) -> Run:
        """One run; on a GPU after one that warms up."""

    @abstractmethod
    def served_device(self) -> ServedDevice:
        """The device for the clients of a server; a simulated one in the time of the wall clock."""

    @abstractmethod
    def session_device(self, speed: float) -> SessionDevice:
        """The device for sessions.

        Args:
            speed: seconds that pass there in one second.

        Raises:
            InvalidInput: a GPU is to run at another speed than its own.
            CudaError: there is no such GPU, or no driver.
        """


class Submitted(NamedTuple):
    """A launch as it was submitted to a session."""

    launch: Launch
    core: _core.Launch
    code: _core.SubmittedCode | None
    arguments: Sequence[Any]


class SessionDevice(ABC):
    """A device to open sessions on.

    Attributes:
        device: what users see of it: it has a ``name`` and a ``description``.
        shares_clock: whether the sessions of several such devices have the same time.
    """

    device: Any
    shares_clock = False

    @property
    def kind(self) -> Hashable:
        """Equal for devices on which policies see a launch alike."""
        return self.device.description

    @abstractmethod
    def open(
        self, policy: Any, ordering: str, *, keeps_record: bool, beside: SessionDevice | None = None
    ) -> _core.CoreSession:
        """A session of the core under this policy, and this ordering.

        Args:
            policy: as the core takes it.
            ordering: its name.
            keeps_record: False for a session that cannot be finished.
            beside: the first device of the session; None for that one.
        """

    @property
    def ordinal(self) -> int | None:
        """The number of the GPU in the driver; None for a simulated device."""
        return None

    @property
    def gpu(self) -> _core.CudaDevice | None:
        """The GPU, which has streams and events; None for a simulated device."""
        return None

    @abstractmethod
    def array(self, values: Any) -> DeviceArray:
        """A copy of host values on the device."""

    @abstractmethod
    def zeros(self, shape: Any, dtype: Any) -> DeviceArray:
        """Zeroed memory of the device."""

    @abstractmethod
    def load(self, kernel: Kernel) -> None:
        """Makes the kernel ready to run."""

    @abstractmethod
    def variable(self, kernel: Kernel, name: str, dtype: Any, shape: Any) -> DeviceArray:
        """A variable of the kernel's source."""

    @abstractmethod
    def launch(
        self, kernel: Any, grid: Any, block: Any, shared_bytes: int, args: tuple[Any, ...], *, keeps: bool
    ) -> Submitted:
        """A launch as the core takes it. ``keeps``: its arguments will be needed by :meth:`alone_ns`."""

    def spread_launch(
        self, kernel: Any, grid: Any, block: Any, shared_bytes: int, args: tuple[Any, ...], *, keeps: bool
    ) -> Submitted:
        """As :meth:`launch`, for a launch whose blocks run on several GPUs.

        Raises:
            InvalidInput: the kernel, or its block, does not suit that; or the device is simulated.
        """
        raise InvalidInput("spread is for GPUs: a simulated device shares no memory with others")

    @abstractmethod
    def core_launch(self, kernel: Any, grid: Any, block: Any, shared_bytes: int) -> _core.Launch:
        """The launch as policies see it, whatever its arguments.

        Raises:
            InvalidInput: it cannot run there.
        """

    @abstractmethod
    def alone_ns(self, name: str, launches: Sequence[Submitted]) -> int:
        """The time of these launches one after the other, without other work on the device."""

    @abstractmethod
    def conditions(self, workload: Workload, done: _core.CoreWorkload) -> Measured | None:
        """The conditions of a measured run; None for a simulated one, which can be repeated."""

    @abstractmethod
    def check(self) -> None:
        """Called when a session has failed or been closed: stops using a device that is lost."""

    @abstractmethod
    def forget(self) -> None:
        """Called at the end of a session: frees the variables of its kernels."""


class ServedDevice(ABC):
    """A device of a server, whose clients' launches come through rings, without Python on the way.

    Attributes:
        device: what users see of it: it has a ``name`` and a ``description``.
    """

    device: Any

    @property
    def loaded_kernels(self) -> int:
        """How many the GPU has, but for those with variables."""
        return 0

    @abstractmethod
    def open(self, policy: str, ordering: str) -> _core.SessionSink:
        """A session of the core under this policy, and this ordering, which takes what comes through the rings."""

    @abstractmethod
    def new_code(self, take: Callable[[int], None]) -> LoadedCode | None:
        """Where a client's kernels are loaded, with variables of its own; none on a simulated device.

        Args:
            take: is told of their bytes, and may refuse them.
        """

    @abstractmethod
    def model(
        self, kernel: Kernel | KernelModel, block: Extent, shared_bytes: int, code: LoadedCode | None
    ) -> _core.KernelModel:
        """The kernel as policies see it.

        Raises:
            InvalidInput: a simulated device has no profile of it.
        """

    @abstractmethod
    def add_kernel(
        self,
        port: _core.ServerPort,
        kernel: Kernel | KernelModel,
        block: Extent,
        shared_bytes: int,
        alone: AloneNs | None,
        code: LoadedCode | None,
        released: Released,
    ) -> tuple[int, list[dict[str, Any]] | None]:
        """Registers the kernel with this block in the port.

        Returns:
            Its handle there, and its parameters; None where arguments are not checked.

        Raises:
            InvalidInput: this device cannot run it with this block.
            CompileError: it does not compile.
        """

    @abstractmethod
    def module_of(self, kernel: Kernel | KernelModel) -> str | None:
        """What tells its variables from those of others; None where it has none."""

    @abstractmethod
    def variable(
        self, kernel: Kernel | KernelModel, name: str, code: LoadedCode | None
    ) -> tuple[ModuleVariable, DeviceArray]:
        """A variable of a client's copy, and its bytes.

        Raises:
            InvalidInput: there is none of this name.
        """

    @abstractmethod
    def zeros(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """Zeroed device memory."""

    @abstractmethod
    def address_of(self, array: DeviceArray) -> int:
        """The address that kernels get; not used on a simulated device."""


def is_ordering(name: str) -> bool:
    """Whether operations wait for anything but those before them in their application.

    >>> is_ordering("arrival"), is_ordering("cumas:window=4")
    (False, True)
    """
    return name.partition(":")[0] != "arrival"
