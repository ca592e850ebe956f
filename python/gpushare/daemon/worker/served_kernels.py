# SPDX-License-Identifier: Apache-2.0
"""The worker's side of a client's kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gpushare._core import InvalidInput
from gpushare.arguments.launch_geometry import Extent
from gpushare.backends.base import AloneNs
from gpushare.daemon.worker.handle_table import HandleTable
from gpushare.kernels.kernel import Kernel
from gpushare.model.kernel_model import KernelModel

if TYPE_CHECKING:
    from gpushare.daemon.worker.served_client import ServedClient
    from gpushare.kernels.compiled_kernel import CompiledKernel


class ServedKernel:
    """A kernel that is unloaded once the client has released it and no launch uses it; it counts until then.

    Args:
        kernel: a :class:`gpushare.Kernel`, or a :class:`gpushare.KernelModel`.
        on_unloaded: called once, when it is unloaded.

    Attributes:
        kernel: the kernel or model.
        module: identity of its module's variables; None where it has none, or has not been loaded.
        code: its loaded code on a GPU. With variables, the client's other code holds it.
        launches: the answers about launches, by block and dynamic shared memory.
    """

    def __init__(self, kernel: Any, on_unloaded: Callable[[], None]) -> None:
        self.kernel = kernel
        self.module: str | None = None
        self.code: Any = None
        self.launches: dict[tuple[Extent, int], dict[str, Any]] = {}
        self._on_unloaded = on_unloaded
        self._of_client = object()
        self._uses = {self._of_client}
        self._lock = threading.Lock()

    def use(self) -> Callable[[], None]:
        """Holds it loaded until the returned function is called."""
        use = object()
        with self._lock:
            self._uses.add(use)
        return partial(self._end, use)

    def give_up(self) -> None:
        """Marks it as released by the client."""
        self._end(self._of_client)

    def _end(self, use: object) -> None:
        with self._lock:
            if use not in self._uses:
                return
            self._uses.remove(use)
            if self._uses:
                return
        self.code = None
        self._on_unloaded()


class ServedKernels:
    """Kernels by the client's numbers. The limits count those of all clients of a user together.

    Args:
        client: the client.

    Attributes:
        count: number of kernels, with released ones that launches still use.
        bytes: bytes of their sources, options and code.
    """

    def __init__(self, client: ServedClient) -> None:
        self._client = client
        self._table: HandleTable[ServedKernel] = HandleTable("kernel")
        self.count = 0
        self.bytes = 0

    def __getitem__(self, number: int) -> ServedKernel:
        return self._table[number]

    def add(self, kernel: Kernel | KernelModel, amount: int) -> int:
        """Adds a kernel with ``amount`` bytes of source and options; returns its number.

        Raises:
            InvalidInput: the user has too many.
        """

        def unloaded() -> None:
            code = kernel.compiled_bytes if isinstance(kernel, Kernel) else 0
            with self._client.worker.opening:
                self.count -= 1
                self.bytes -= amount + code

        self._take(kernel.name, amount, count=1)
        served = ServedKernel(kernel, unloaded)
        if isinstance(kernel, Kernel):
            kernel.compile_elsewhere(self._compiled)
        try:
            return self._table.add(served)
        except BaseException:
            served.give_up()
            raise

    def loaded(self, number: int) -> ServedKernel:
        """The kernel of this number, compiled and loaded; a model needs neither.

        Raises:
            InvalidInput: it cannot be loaded; or a CompileError.
        """
        served, session = self[number], self._client.worker.session.kernels
        if isinstance(served.kernel, Kernel):
            served.module = session.module_of(served.kernel)
            served.code = session.load(served.kernel, self._client.code)
        return served

    def shaped(self, number: int, block: Extent, shared_bytes: int) -> dict[str, Any]:
        """The answer about launches of this kernel with this block, which the client's port accepts from now on."""
        served = self.loaded(number)
        key = block, shared_bytes
        if key not in served.launches:
            alone = self._client.worker.alone_times.of(served.kernel, block, shared_bytes, self._client.code)
            handle, parameters = self._in_port(served, block, shared_bytes, alone)
            served.launches[key] = {"kernel": handle, "parameters": parameters, "module": served.module}
        return served.launches[key]

    def _in_port(
        self, served: ServedKernel, block: Extent, shared_bytes: int, alone: AloneNs | None
    ) -> tuple[int, list[dict[str, Any]] | None]:
        client, ended = self._client, served.use()
        released = ended, client.worker.released
        try:
            return client.worker.session.kernels.kernel(
                client.port, served.kernel, block, shared_bytes, alone, client.code, released
            )
        except BaseException:
            ended()
            raise

    def unload(self, number: int, after: int) -> None:
        """Releases a kernel: it is unloaded when the launches up to that job have ended.

        Raises:
            InvalidInput: there is none of this number, or it has variables, which last as long as the client.
        """
        served, client = self[number], self._client
        if client.code is not None and client.code.has_module(served.module):
            raise InvalidInput(f"kernel {served.kernel.name!r} has variables, and stays as long as its client")
        for key, told in list(served.launches.items()):
            client.port.remove_kernel(told["kernel"], after)
            del served.launches[key]
        self._table.take(number).give_up()

    def clear(self) -> None:
        """Removes all kernels of a client that has gone. Those of its port are unloaded with the port."""
        for each in self._table:
            each.give_up()
        self._table.clear()  # the kernels reference this client through their compile functions

    def _compiled(self, kernel: Kernel, arch: str) -> CompiledKernel:
        """Compiles a kernel through the queue; raises once the client has gone."""
        client = self._client
        made = client.worker.compilations.compile(
            kernel, arch, client.grant.user, client.number, client.channel.is_over
        )
        self._take(kernel.name, len(made.original))
        return made

    def _take(self, name: str, amount: int, count: int = 0) -> None:
        worker, user = self._client.worker, self._client.grant.user
        settings = worker.settings
        with worker.opening:
            own = [each.kernels for each in worker.clients_of(user)]
            total = sum(each.bytes for each in own) + amount
            number = sum(each.count for each in own) + count
            for what, found, most, setting in (
                ("the bytes of kernels", total, settings.kernel_bytes_per_user, "kernel_bytes_per_user"),
                ("the kernels", number, settings.kernels_per_user, "kernels_per_user"),
            ):
                if found > most:
                    raise InvalidInput(
                        f"kernel {name!r}: with it, {what} of user {user}'s clients are {found}, above {most}: let go "
                        f"of those that are not needed any more, or have the server's {setting} raised"
                    )
            self.bytes += amount
            self.count += count
