# SPDX-License-Identifier: Apache-2.0
"""A client's kernels, as the worker keeps them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gpushare._core import InvalidInput
from gpushare.daemon.worker.handles import HandleTable
from gpushare.daemon.worker.served_session import AloneNs
from gpushare.kernels.kernel import Kernel
from gpushare.model.kernel_model import KernelModel
from gpushare.model.launch_geometry import Extent

if TYPE_CHECKING:
    from gpushare.daemon.worker.served_client import ServedClient
    from gpushare.kernels.compiled_kernel import CompiledKernel


class ServedKernel:
    """It is unloaded once the client has given it up and no launch uses it any more, and counts until then.

    Args:
        kernel: a :class:`gpushare.Kernel`, or a model of one.
        on_unloaded: called once that is so.

    Attributes:
        kernel: likewise.
        module: tells its variables from those of others; None where it has none, or has not been loaded.
        code: as it is loaded on a GPU. With variables, the client's other code keeps it.
        launches: what the client was told of launches with this block and dynamic shared memory.
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
        """Keeps it loaded until what is returned is called."""
        use = object()
        with self._lock:
            self._uses.add(use)
        return partial(self._end, use)

    def give_up(self) -> None:
        """The client does not need it any more."""
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
    """By the numbers that the client knows them by. Those of all clients of a user count together.

    Args:
        client: whose they are.

    Attributes:
        count: how many there are, with those that the client has given up and launches under way use.
        bytes: that sources, options and code of these take.
    """

    def __init__(self, client: ServedClient) -> None:
        self._client = client
        self._table: HandleTable[ServedKernel] = HandleTable("kernel")
        self.count = 0
        self.bytes = 0

    def __getitem__(self, number: int) -> ServedKernel:
        return self._table[number]

    def add(self, kernel: Kernel | KernelModel, amount: int) -> int:
        """The number of a new one, whose source and options take so many bytes.

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
        """The kernel of this number, compiled and loaded; a model is as it is.

        Raises:
            InvalidInput: or CompileError: why it cannot be.
        """
        served, session = self[number], self._client.worker.session
        if isinstance(served.kernel, Kernel):
            served.module = session.module_of(served.kernel)
            served.code = session.load(served.kernel, self._client.code)
        return served

    def shaped(self, number: int, block: Extent, shared_bytes: int) -> dict[str, Any]:
        """What the client is told of launches of this kernel, of which its port knows from now on."""
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
            return client.worker.session.kernel(
                client.port, served.kernel, block, shared_bytes, alone, client.code, released
            )
        except BaseException:
            ended()
            raise

    def unload(self, number: int, after: int) -> None:
        """The client has given it up: it is unloaded when the launches up to that job have ended.

        Raises:
            InvalidInput: there is none of this number, or it has variables: these are the client's until it ends.
        """
        served, client = self[number], self._client
        if client.code is not None and client.code.has_module(served.module):
            raise InvalidInput(f"kernel {served.kernel.name!r} has variables, and stays as long as its client")
        for key, told in list(served.launches.items()):
            client.port.remove_kernel(told["kernel"], after)
            del served.launches[key]
        self._table.take(number).give_up()

    def clear(self) -> None:
        """The client has gone. What its port has is unloaded with that."""
        for each in self._table:
            each.give_up()
        self._table.clear()  # each knows this client, by whom it is compiled

    def _compiled(self, kernel: Kernel, arch: str) -> CompiledKernel:
        """In the client's turn; not any more once it is gone."""
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
