// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "core/trace/metrics.hpp"

namespace gpushare::bindings {

void bind_metrics(py::module_& module) {
  module.def(
      "normalized_turnaround",
      [](std::int64_t shared_ns, std::int64_t alone_ns) {
        return normalized_turnaround(Duration(shared_ns), Duration(alone_ns));
      },
      py::arg("shared_ns"), py::arg("alone_ns"));
  module.def(
      "system_throughput", [](const std::vector<double>& ntt) { return system_throughput(ntt); }, py::arg("ntt"));
  module.def(
      "average_normalized_turnaround",
      [](const std::vector<double>& ntt) { return average_normalized_turnaround(ntt); }, py::arg("ntt"));
  module.def("strict_fairness", [](const std::vector<double>& ntt) { return strict_fairness(ntt); }, py::arg("ntt"));
  module.def("percentile", &percentile, py::arg("values"), py::arg("ratio"));
}

}  // namespace gpushare::bindings
