# SPDX-License-Identifier: Apache-2.0
"""Converts workloads to the structure of their file format, including the text of CUDA code."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from gpushare.checks import require
from gpushare.model.argument_file import argument_to_data
from gpushare.model.host_pace import AT_ONCE, HostPace
from gpushare.model.kernel_model import KernelModel
from gpushare.model.operation import Launch, Operation
from gpushare.model.workload_schema import MOST_REPEATS
from gpushare.suite.arguments import SuiteArguments

if TYPE_CHECKING:
    from gpushare.kernels.kernel import Kernel
    from gpushare.model.workload import Application, Workload


def workload_to_dict(workload: Workload) -> dict[str, Any]:
    """The workload in the structure of its file format, without values that are defaults."""
    names = _names(workload)
    data: dict[str, Any] = {"name": workload.name}
    if workload.device:
        data["device"] = workload.device
    data["kernel"] = [
        _model_to_dict(kernel) if isinstance(kernel, KernelModel) else _cuda_to_dict(kernel, name)
        for kernel, name in names.items()
    ]
    data["application"] = [_application_to_dict(application, names) for application in workload.applications]
    return data


def _names(workload: Workload) -> dict[KernelModel | Kernel, str]:
    """Every kernel that is not from the suite, with its name in the file; names are unique."""
    launches = [launch for application in workload.applications for _, launch in application.launches()]
    kernels = dict.fromkeys(launch.kernel for launch in launches if not isinstance(launch.args, SuiteArguments))
    taken: set[str] = set()
    for model in (kernel for kernel in kernels if isinstance(kernel, KernelModel)):
        shared = model.name in taken
        require(
            not shared, f"workload {workload.name!r}: two kernels share the name {model.name!r}; rename one of them"
        )
        taken.add(model.name)
    names: dict[KernelModel | Kernel, str] = {}
    for kernel in kernels:  # CUDA kernels get another name where two share one; models keep theirs
        names[kernel] = kernel.name if isinstance(kernel, KernelModel) else _free_name(kernel.name, taken)
    return names


def _free_name(name: str, taken: set[str]) -> str:
    """The name, or a variant with a number if it is taken (a second version of a kernel); adds it to ``taken``."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _model_to_dict(kernel: KernelModel) -> dict[str, Any]:
    values = {field.name: (getattr(kernel, field.name), field.default) for field in fields(KernelModel)}
    return _plain({name: value for name, (value, default) in values.items() if value != default})


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """The same with times of whole nanoseconds as integers: equal times have one text, 1000 and not 1000.0."""
    times = {name: value for name, value in data.items() if name.endswith("_ns") and float(value).is_integer()}
    return data | {name: int(value) for name, value in times.items()}


def _cuda_to_dict(kernel: Kernel, name: str) -> dict[str, Any]:
    require(kernel._source.cubin is None, f"kernel {kernel.name!r}: a workload file cannot hold a cubin")
    data: dict[str, Any] = {"name": name, "code": kernel.text}
    data |= {"entry": kernel.name} if name != kernel.name else {}
    options = [*kernel._source.header_options, *kernel.options]
    data |= {"options": options} if options else {}
    data |= {"names": list(kernel._names)} if kernel._names else {}
    return data | ({} if kernel.preemptible else {"preemptible": False})


def _application_to_dict(application: Application, names: dict[KernelModel | Kernel, str]) -> dict[str, Any]:
    memory = {"memory_bytes": application.memory_bytes} if application.memory_bytes else {}
    return {
        "name": application.name,
        **_plain({"arrival_ns": application.arrival_ns, "priority": application.priority, **application.terms.given}),
        **memory,
        **({"owner": application.owner} if application.owner else {}),
        "operations": [
            data
            for operation, times in groupby(application.operations)
            for data in _repeated(_operation_to_dict(operation, names), len(list(times)))
        ],
    }


def _repeated(data: dict[str, Any], times: int) -> list[dict[str, Any]]:
    if times == 1:
        return [data]
    full, rest = divmod(times, MOST_REPEATS)
    return [{**data, "repeat": count} for count in full * [MOST_REPEATS] + ([rest] if rest else [])]


def _operation_to_dict(operation: Operation, names: dict[KernelModel | Kernel, str]) -> dict[str, Any]:
    return _plain(_work_to_dict(operation, names) | _pace_to_dict(operation.pace))


def _pace_to_dict(pace: HostPace) -> dict[str, float]:
    data = {} if pace.after_ns is None else {"after_ns": pace.after_ns}
    return data | {name: ns for name, ns in (("host_ns", pace.host_ns), ("gap_ns", pace.gap_ns)) if ns}


def _work_to_dict(operation: Operation, names: dict[KernelModel | Kernel, str]) -> dict[str, Any]:
    if not isinstance(operation, Launch):
        data = {"copy": operation.direction, "bytes": operation.bytes}
        return data | ({} if operation.time_ns is None else {"time_ns": operation.time_ns})
    if isinstance(operation.args, SuiteArguments):
        return _suite_to_dict(operation, operation.args)
    if not operation.is_real:
        return {"launch": names[operation.kernel], "blocks": operation.blocks}
    kernel, grid, block = operation.cuda
    data = {"launch": names[kernel], "grid": list(grid), "block": list(block)}
    data |= {"shared_bytes": operation.shared_bytes} if operation.shared_bytes else {}
    return data | ({"args": [argument_to_data(value) for value in operation.args]} if operation.args else {})


def _suite_to_dict(launch: Launch, arguments: SuiteArguments) -> dict[str, Any]:
    own = Launch.of_suite(arguments.name, arguments.size, arguments.seed, arguments.layers)
    same = replace(launch, pace=AT_ONCE) == own
    require(same, f"launch of {launch.kernel.name!r}: a modified launch of the suite cannot be written to a file")
    data: dict[str, Any] = {"suite": arguments.name, "size": arguments.size}
    data |= {"seed": arguments.seed} if arguments.seed else {}
    return data | ({"layers": arguments.layers} if arguments.layers > 1 else {})
