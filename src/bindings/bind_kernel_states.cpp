// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "core/trace/kernel_states.hpp"

namespace gpushare::bindings {
namespace {

py::dict columns_of(const std::vector<KernelStateSpan>& spans) {
  std::vector<std::int64_t> application, operation, begin, end;
  std::vector<std::string> state;
  for (const KernelStateSpan& span : spans) {
    application.push_back(static_cast<std::int64_t>(span.application));
    operation.push_back(static_cast<std::int64_t>(span.operation));
    state.emplace_back(name_of(span.state));
    begin.push_back(count(span.begin));
    end.push_back(count(span.end));
  }
  return py::dict(py::arg("application") = application, py::arg("operation") = operation, py::arg("state") = state,
                  py::arg("begin_ns") = begin, py::arg("end_ns") = end);
}

}  // namespace

void bind_kernel_states(py::module_& module) {
  module.def(
      "kernel_states",
      [](const Trace& trace, const Workload& workload) { return columns_of(kernel_states(trace, workload)); },
      py::arg("trace"), py::arg("workload"),
      "Columns application, operation, state, begin_ns, end_ns; one row per state that a launch was in.");
}

}  // namespace gpushare::bindings
