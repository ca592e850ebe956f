// SPDX-License-Identifier: Apache-2.0
// One function per topic, each in the file of its name. Logic stays in the core; bindings are names, units and views.
#pragma once

#include <pybind11/pybind11.h>

namespace gpushare::bindings {

namespace py = pybind11;

void bind_errors(py::module_& module);
void bind_cuda_errors(py::module_& module);
void bind_device(py::module_& module);
void bind_device_tuning(py::module_& module);
void bind_workload(py::module_& module);
void bind_state(py::module_& module);
void bind_predictors(py::module_& module);
void bind_allocation(py::module_& module);
void bind_accuracy(py::module_& module);
void bind_policies(py::module_& module);
void bind_metrics(py::module_& module);
void bind_trace(py::module_& module);
void bind_transform(py::module_& module);
void bind_compiler(py::module_& module);
void bind_run(py::module_& module);
void bind_cuda_device(py::module_& module);
void bind_shared_memory(py::module_& module);
void bind_dlpack(py::module_& module);
void bind_cuda_run(py::module_& module);
void bind_session(py::module_& module);
void bind_held_jobs(py::module_& module);
void bind_session_history(py::module_& module);
void bind_session_devices(py::module_& module);
void bind_spread(py::module_& module);
void bind_profile(py::module_& module);
void bind_calibration(py::module_& module);
void bind_slate(py::module_& module);
void bind_kernel_states(py::module_& module);
void bind_ordering(py::module_& module);
void bind_off_sm_bandwidth(py::module_& module);
void bind_daemon(py::module_& module);
void bind_corun(py::module_& module);
void bind_programs(py::module_& module);

}  // namespace gpushare::bindings
