# SPDX-License-Identifier: Apache-2.0
"""Kernels that are loaded on a GPU, and the device copies of their sources' variables."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.arguments.device_array import DeviceArray, Kept
from gpushare.kernels.compiled_kernel import CompiledKernel
from gpushare.kernels.kernel import Kernel
from gpushare.kernels.module_variables import ModuleVariable, variable_named

if TYPE_CHECKING:
    from gpushare.backends.cuda.device import CudaDevice


@dataclass
class LoadedModule:
    """A loaded module with variables, and the kernels of it that have been requested.

    Attributes:
        core: the module on the GPU.
        variables: all its variables.
        kernels: by symbol, and by the worker's symbol where the worker is requested.
        memories: memory of variables by symbol; cached, since asking the driver may block all launches.
    """

    core: _core.KernelModule
    variables: tuple[ModuleVariable, ...]
    kernels: dict[tuple[str, str | None], _core.KernelCode] = field(default_factory=dict)
    memories: dict[str, _core.VariableMemory] = field(default_factory=dict)

    def array(self, variable: ModuleVariable, dtype: Any = None, shape: Any = None) -> DeviceArray:
        """The variable as an array, which keeps a reference to the module."""
        extent, kind = variable.described(dtype, shape)
        memory = self.memories.get(variable.symbol)
        if memory is None:
            memory = self.memories.setdefault(variable.symbol, self.core.variable(variable.symbol))
        if memory.bytes != variable.bytes:  # the size in a cubin's tables is not trusted
            raise InvalidInput(
                f"variable {variable.name!r} has {memory.bytes} bytes on the device, expected {variable.bytes}"
            )
        return DeviceArray(memory, extent, kind)


class LoadedCode:
    """The kernels of one owner of variables: a session, a client of a server, or the workloads of a runner.

    All owners share kernels without variables, which stay loaded while one of them references them. Of a source with
    variables every owner has one copy, which its kernels and their workers share.

    Args:
        device: the device.
        take: called with the bytes of a module's variables before it is loaded; it may raise to refuse them.
        keeps_all: whether to hold kernels without variables, too; otherwise the caller of :meth:`load` has to.
        keeps_first_values: whether the initial values of variables are stored, so that they can be restored.
    """

    def __init__(
        self,
        device: CudaDevice,
        take: Callable[[int], None] = lambda _: None,
        *,
        keeps_all: bool = True,
        keeps_first_values: bool = False,
    ) -> None:
        self._device = device
        self._take = take
        self._keeps_all = keeps_all
        self._keeps_first_values = keeps_first_values
        self._first_values: list[Kept] = []
        self._modules: dict[str, LoadedModule] = {}
        self._without_variables: dict[int, _core.KernelCode] = {}
        self._users: dict[object, dict[str, tuple[str, str]]] = defaultdict(dict)
        self._lock = threading.Lock()

    def load(self, kernel: Kernel) -> _core.KernelCode:
        """The kernel's code, compiled and loaded at its first use.

        Raises:
            InvalidInput: it uses a variable of which another kernel of the same source uses another copy.
        """
        compiled = self._device.compiled(kernel)
        if compiled.module is None:
            code = self._device.load_without_variables(compiled)
            if self._keeps_all:
                self._without_variables[id(code)] = code
            return code
        with self._lock:
            known = self._loaded(kernel, compiled).kernels
            key = compiled.symbol, compiled.worker_symbol
            if key not in known:
                known[key] = self._modules[compiled.module].core.kernel(*key, compiled.worker_blocks)
            return known[key]

    def load_spread(self, kernel: Kernel) -> _core.KernelCode:
        """The kernel's code for a launch on several GPUs.

        Raises:
            InvalidInput: its blocks cannot run on several; the message says why.
        """
        compiled = self._device.compiled(kernel, spread=True)
        if compiled.worker_symbol is None:
            raise InvalidInput(f"kernel {kernel.name!r} cannot run on several GPUs: {compiled.refusal}")
        code = self._device.load_without_variables(compiled)
        self._without_variables[id(code)] = code
        return code

    def variable(self, kernel: Kernel, name: str, dtype: Any = None, shape: Any = None) -> DeviceArray:
        """A variable of the kernel's source, as an array in its memory."""
        found, module = self.found_variable(kernel, name)
        return module.array(found, dtype, shape)

    def found_variable(self, kernel: Kernel, name: str) -> tuple[ModuleVariable, LoadedModule]:
        """The description of a variable, and the module that holds it.

        Raises:
            InvalidInput: there is no such variable; the message lists the known ones.
        """
        compiled = self._device.compiled(kernel)
        found = variable_named(name, compiled.variables, kernel.name)
        with self._lock:
            return found, self._loaded(kernel, compiled)

    def has_module(self, module: str | None) -> bool:
        """Whether the variables of it are there."""
        with self._lock:
            return module in self._modules

    def kept_variables(self) -> list[Kept]:
        """The present contents of the variables that kernels can write, to be restored later."""
        with self._lock:
            return [kept for module in self._modules.values() for kept in self._kept(module)]

    def put_back_first_values(self) -> None:
        """Resets every variable to its initial value."""
        for each in self._first_values:
            each.put_back()

    def unload(self, kernel: Kernel) -> None:
        """Unloads the kernel; its next launch finds the variables of its source at their initial values."""
        compiled = self._device.compiled(kernel)
        if compiled.module is not None:
            with self._lock:
                self._modules.pop(compiled.module, None)

    def clear(self) -> None:
        """Releases everything; code and memory are freed once no job uses them."""
        with self._lock:
            self._modules.clear()
            self._without_variables.clear()
            self._first_values.clear()
            self._users.clear()

    def _loaded(self, kernel: Kernel, compiled: CompiledKernel) -> LoadedModule:
        assert compiled.module is not None
        users = self._other_users(kernel, compiled)
        if compiled.module not in self._modules:
            variables = compiled.variables
            self._take(sum(each.bytes for each in variables))
            written = any(each.is_written for each in variables)
            core = self._device.core.load(compiled.original, has_variables=written, has_constants=True)
            module = self._modules[compiled.module] = LoadedModule(core, variables)
            if self._keeps_first_values:
                self._first_values += self._kept(module)
        users.update({each.symbol: (kernel.name, compiled.module) for each in compiled.variables if each.is_used})
        return self._modules[compiled.module]

    def _kept(self, module: LoadedModule) -> list[Kept]:
        written = [each for each in module.variables if each.is_written]
        return [Kept(self._device.core, module.array(each, "u1")) for each in written]

    def _other_users(self, kernel: Kernel, compiled: CompiledKernel) -> dict[str, tuple[str, str]]:
        """Other kernels that use variables of the kernel's source: by variable, a kernel and its module.

        Raises:
            InvalidInput: this kernel would use another copy.
        """
        users = self._users[kernel.source_identity]
        for variable in compiled.variables:
            other, module = users.get(variable.symbol, (kernel.name, compiled.module))
            if variable.is_used and module != compiled.module:
                raise InvalidInput(
                    f"kernels {other!r} and {kernel.name!r} use the variable {variable.name!r} of the same source, but "
                    "were compiled apart, so that each would have its own: compile them together, as in "
                    f"gs.Module(source, [{other!r}, {kernel.name!r}])"
                )
        return users
