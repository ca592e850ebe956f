// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "core/errors.hpp"
#include "core/predictors/corun.hpp"
#include "core/predictors/off_sm_bandwidth.hpp"
#include "core/residency.hpp"

namespace gpushare::bindings {
namespace {

bool is_memory(BoundBy intensity) { return intensity == BoundBy::Memory; }

/// Blocks per nanosecond of each kernel, all at once, on so many full SMs of its own.
std::vector<double> partition_rates(const Device& device, const std::vector<Kernel>& kernels,
                                    const std::vector<int>& parts) {
  require(kernels.size() == parts.size(), "every kernel needs a part");
  std::vector<const Kernel*> present;
  std::vector<SmGroup> groups;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    present.push_back(&kernels[i]);
    groups.push_back({.sms = parts[i], .blocks = std::vector<int>(kernels.size(), 0)});
    groups.back().blocks[i] = max_residency(device, kernels[i].needs);
  }
  return corun_rates(device, present, groups);
}

}  // namespace

void bind_off_sm_bandwidth(py::module_& module) {
  module.def(
      "rate_on_sms",
      [](const Device& device, const Kernel& kernel, int sms) {
        return rate_alone(device, kernel, sms, max_residency(device, kernel.needs));
      },
      py::arg("device"), py::arg("kernel"), py::arg("sms"), "Blocks per nanosecond alone on so many full SMs.");
  module.def("partition_rates", &partition_rates, py::arg("device"), py::arg("kernels"), py::arg("parts"));
  module.def(
      "off_sm_demand_per_sm",
      [](const Device& device, const Kernel& kernel) { return demand_per_sm(device, kernel).bytes_per_second; },
      py::arg("device"), py::arg("kernel"));
  module.def(
      "off_sm_demand_by_counters",
      [](double most_ipc, double apki, double line_bytes, double clock_hz) {
        return demand_per_sm({most_ipc, apki, line_bytes}, clock_hz).bytes_per_second;
      },
      py::kw_only(), py::arg("most_ipc"), py::arg("apki"), py::arg("line_bytes"), py::arg("clock_hz"));
  module.def(
      "off_sm_supply",
      [](const Device& device, double llc_hit_ratio, double dram_efficiency) {
        return off_sm_supply(device.off_sm, llc_hit_ratio, dram_efficiency).bytes_per_second;
      },
      py::arg("device"), py::arg("llc_hit_ratio"), py::arg("dram_efficiency") = usual_dram_efficiency);
  module.def(
      "is_memory_bound_by_model",
      [](const Device& device, const Kernel& kernel, double dram_efficiency) {
        return is_memory(intensity_by_off_sm_model(device, kernel, dram_efficiency));
      },
      py::arg("device"), py::arg("kernel"), py::arg("dram_efficiency") = usual_dram_efficiency);
  module.def(
      "is_memory_bound_by_scaling",
      [](const Device& device, const Kernel& kernel) { return is_memory(intensity_by_scaling(device, kernel)); },
      py::arg("device"), py::arg("kernel"));
  module.def("dram_utilisation", &dram_utilisation, py::arg("device"), py::arg("kernel"));
  module.def("saturating_sms", &saturating_sms, py::arg("device"), py::arg("kernel"),
             py::arg("share") = saturated_speed);
}

}  // namespace gpushare::bindings
