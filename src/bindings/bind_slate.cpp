// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "core/partitioning/slate_table.hpp"

namespace gpushare::bindings {
namespace {

const char* word(Intensity intensity) {
  constexpr const char* words[] = {"low", "medium", "high"};
  return words[static_cast<std::size_t>(intensity)];
}

}  // namespace

void bind_slate(py::module_& module) {
  py::class_<Demand>(module, "Demand", "What a launch draws alone, as fractions of what the device has.")
      .def_readonly("flops", &Demand::flops)
      .def_readonly("issue", &Demand::issue)
      .def_readonly("memory", &Demand::memory)
      .def_property_readonly("compute_intensity", [](const Demand& demand) { return word(demand.compute_intensity()); })
      .def_property_readonly("memory_intensity", [](const Demand& demand) { return word(demand.memory_intensity()); })
      .def("__repr__", [](const Demand& demand) {
        return std::string("<Demand: compute ") + word(demand.compute_intensity()) + ", memory " +
               word(demand.memory_intensity()) + ">";
      });
  module.def("demand_alone", &demand_alone, py::arg("device"), py::arg("launch"),
             "Slate's intensities of a launch of a profiled kernel.");
  module.def(
      "slate_coruns",
      [](const Device& device, const Launch& running, const Launch& candidate) {
        return is_complementary(slate_class(device, running), slate_class(device, candidate));
      },
      py::arg("device"), py::arg("running"), py::arg("candidate"), "What Slate's Table I says of two launches.");
}

}  // namespace gpushare::bindings
