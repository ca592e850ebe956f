# SPDX-License-Identifier: Apache-2.0
"""Kernels that are loaded on a GPU, and the variables that their sources have there."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpushare import _core
from gpushare._core import InvalidInput
from gpushare.backends.cuda.device_array import DeviceArray, Kept
from gpushare.kernels.compiled_kernel import CompiledKernel
from gpushare.kernels.kernel import Kernel
from gpushare.kernels.module_variables import ModuleVariable, variable_named

if TYPE_CHECKING:
    from gpushare.backends.cuda.device import CudaDevice


@dataclass
class LoadedModule:
    """Machine code with variables, and the kernels of it that have been asked for.

    Attributes:
        core: it, on the GPU.
        variables: all that it has.
        kernels: by symbol, and by the worker's where that is wanted.
        memories: of variables by symbol; the driver is asked once, since it may have all launches wait.
    """

    core: _core.KernelModule
    variables: tuple[ModuleVariable, ...]
    kernels: dict[tuple[str, str | None], _core.KernelCode] = field(default_factory=dict)
    memories: dict[str, _core.VariableMemory] = field(default_factory=dict)

    def array(self, variable: ModuleVariable, dtype: Any = None, shape: Any = None) -> DeviceArray:
        """The variable as an array, which keeps the module."""
        extent, kind = variable.described(dtype, shape)
        memory = self.memories.get(variable.symbol)
        if memory is None:
            memory = self.memories.setdefault(variable.symbol, self.core.variable(variable.symbol))
        if memory.bytes != variable.bytes:  # a cubin's tables may say anything
            raise InvalidInput(f"variable {variable.name!r} has {memory.bytes} bytes, and not {variable.bytes}")
        return DeviceArray(memory, extent, kind)


class LoadedCode:
    """The kernels of one owner of variables: of a session, a client of a server, or the workloads of a runner.

    Kernels without variables are the same for all owners, and stay loaded as long as one of them has them. Of a source
    with variables the owner has one copy, which its kernels and their workers share.

    Args:
        device: where.
        take: is told of the bytes of a module's variables before it is loaded, and may refuse them.
        keeps_all: kernels without variables, too; else each stays as long as the one that has loaded it keeps it.
        keeps_first_values: variables can be put back to what they begin with.
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
            InvalidInput: it uses a variable, of which another kernel of the same source uses another copy.
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

    def variable(self, kernel: Kernel, name: str, dtype: Any = None, shape: Any = None) -> DeviceArray:
        """A variable of the kernel's source, as an array in its memory."""
        found, module = self.found_variable(kernel, name)
        return module.array(found, dtype, shape)

    def found_variable(self, kernel: Kernel, name: str) -> tuple[ModuleVariable, LoadedModule]:
        """What there is of it, and the module that it is in.

        Raises:
            InvalidInput: there is none; the message lists those there are.
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
        """What those hold now that kernels can write, to be put back later."""
        with self._lock:
            return [kept for module in self._modules.values() for kept in self._kept(module)]

    def put_back_first_values(self) -> None:
        """Every variable is again what it was when its module was loaded."""
        for each in self._first_values:
            each.put_back()

    def unload(self, kernel: Kernel) -> None:
        """Its next launch finds the variables of its source as they begin."""
        compiled = self._device.compiled(kernel)
        if compiled.module is not None:
            with self._lock:
                self._modules.pop(compiled.module, None)

    def clear(self) -> None:
        """The owner has gone: code and memory go once no job uses them any more."""
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
        """By variable of the kernel's source, a kernel that uses it, and in which module.

        Raises:
            InvalidInput: this one would use another copy.
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
