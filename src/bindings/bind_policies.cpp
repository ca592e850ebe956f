// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "core/ordering/ordering_registry.hpp"
#include "core/placements/registry.hpp"
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
      "require_policy",
      [](const std::string& name) {
        const OrderedPolicy parts = ordered_policy(name);
        require_ordering(parts.ordering);
        make_policy(parts.policy);
      },
      py::arg("name"),
      "Raise InvalidInput unless this names a built-in policy, with options that it has behind it, and perhaps an "
      "ordering and a + before it.");
  module.def(
      "require_priority",
      [](const std::string& policy, const std::string& application, int priority) {
        make_policy(ordered_policy(policy).policy)->check({.name = application, .priority = priority});
      },
      py::arg("policy"), py::arg("application"), py::arg("priority"),
      "Raise PolicyError unless this built-in policy can serve an application of this priority.");
  py::class_<PlacementEntry>(module, "PlacementEntry", "One line of the table of placements.")
      .def_property_readonly("name", [](const PlacementEntry& entry) { return std::string(entry.name); })
      .def_property_readonly("summary", [](const PlacementEntry& entry) { return std::string(entry.summary); });
  module.def("placements", [] { return std::vector<PlacementEntry>(placements().begin(), placements().end()); });
  module.def("placement_options", &placement_options, py::arg("name"), "The options of this placement.");
  module.def(
      "require_placement", [](const std::string& name) { make_placement(name); }, py::arg("name"),
      "Raise InvalidInput unless this names a placement, with options that it has behind it.");
  py::class_<OptionEntry>(module, "OptionEntry", "An option as its policy or ordering describes it.")
      .def_readonly("name", &OptionEntry::name)
      .def_readonly("meaning", &OptionEntry::meaning)
      .def_readonly("otherwise", &OptionEntry::otherwise, "Its value where it is left out; '' where the meaning says.")
      .def_readonly("values", &OptionEntry::values, "What it may be.");
  module.def("policy_options", &policy_options, py::arg("name"), "The options of this built-in policy.");
  module.def("ordering_options", &ordering_options, py::arg("name"), "The options of this ordering.");
  module.def("policies", [] { return std::vector<PolicyEntry>(policies().begin(), policies().end()); });
}

}  // namespace gpushare::bindings
