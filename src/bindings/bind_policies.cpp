// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "core/policies/registry.hpp"

namespace gpushare::bindings {

void bind_policies(py::module_& module) {
  py::class_<PolicyEntry>(module, "PolicyEntry", "One line of the table of built-in policies.")
      .def_property_readonly("name", [](const PolicyEntry& entry) { return std::string(entry.name); })
      .def_property_readonly("summary", [](const PolicyEntry& entry) { return std::string(entry.summary); })
      .def_property_readonly("source", [](const PolicyEntry& entry) { return std::string(entry.source); })
      .def_readonly("is_oracle", &PolicyEntry::is_oracle)
      .def("__repr__", [](const PolicyEntry& entry) { return "<PolicyEntry " + std::string(entry.name) + ">"; });
  module.def(
      "require_policy", [](const std::string& name) { make_policy(name); }, py::arg("name"),
      "Raise InvalidInput unless this names a built-in policy, with options that it has behind it.");
  module.def(
      "require_priority",
      [](const std::string& policy, const std::string& application, int priority) {
        make_policy(policy)->check({.name = application, .priority = priority});
      },
      py::arg("policy"), py::arg("application"), py::arg("priority"),
      "Raise PolicyError unless this built-in policy can serve an application of this priority.");
  module.def("policies", [] { return std::vector<PolicyEntry>(policies().begin(), policies().end()); });
}

}  // namespace gpushare::bindings
