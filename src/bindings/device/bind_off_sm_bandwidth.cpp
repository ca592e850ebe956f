// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "core/kernel_rates/corun.hpp"
#include "core/kernel_rates/off_sm_bandwidth.hpp"
#include "core/model/errors.hpp"
#include "core/model/residency.hpp"

namespace gpushare::bindings {
namespace {

constexpr double most_per_kilo = 1e6;  // accesses per 1000 instructions: 32 threads, and then some

void require_efficiency(double dram_efficiency) {
  require(dram_efficiency > 0, "dram_efficiency must be above 0, got " + shown(dram_efficiency));
  require_in("dram_efficiency", dram_efficiency, 0, 1);
}

bool is_memory(BoundBy intensity) { return intensity == BoundBy::Memory; }

/// Blocks per nanosecond of each kernel, all at once, on so many dedicated, full SMs.
std::vector<double> partition_rates(const Device& device, const std::vector<Kernel>& kernels,
                                    const std::vector<int>& parts) {
  require(kernels.size() == parts.size(), "every kernel needs a part");
  std::int64_t sms = 0;
  for (const int part : parts) {
    require_in("a part's SMs", part, 0);
    sms += part;
  }
  require(sms <= device.sms,
          "the parts have " + std::to_string(sms) + " SMs together, but the device has " + std::to_string(device.sms));
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
        require(sms >= 0 && sms <= device.sms,
                "sms must lie in 0.." + std::to_string(device.sms) + ", got " + std::to_string(sms));
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
        require_positive("most_ipc", most_ipc);
        require_in("apki", apki, 0, most_per_kilo);
        require_positive("line_bytes", line_bytes);
        require_positive("clock_hz", clock_hz);
        return demand_per_sm({most_ipc, apki, line_bytes}, clock_hz).bytes_per_second;
      },
      py::kw_only(), py::arg("most_ipc"), py::arg("apki"), py::arg("line_bytes"), py::arg("clock_hz"));
  module.def(
      "off_sm_supply",
      [](const Device& device, double llc_hit_ratio, double dram_efficiency) {
        require_in("llc_hit_ratio", llc_hit_ratio, 0, 1);
        require_efficiency(dram_efficiency);
        return off_sm_supply(device.off_sm, llc_hit_ratio, dram_efficiency).bytes_per_second;
      },
      py::arg("device"), py::arg("llc_hit_ratio"), py::arg("dram_efficiency") = usual_dram_efficiency);
  module.def(
      "is_memory_bound_by_model",
      [](const Device& device, const Kernel& kernel, double dram_efficiency) {
        require_efficiency(dram_efficiency);
        return is_memory(intensity_by_off_sm_model(device, kernel, dram_efficiency));
      },
      py::arg("device"), py::arg("kernel"), py::arg("dram_efficiency") = usual_dram_efficiency);
  module.def(
      "is_memory_bound_by_scaling",
      [](const Device& device, const Kernel& kernel) { return is_memory(intensity_by_scaling(device, kernel)); },
      py::arg("device"), py::arg("kernel"));
  module.def("dram_utilisation", &dram_utilisation, py::arg("device"), py::arg("kernel"));
  module.def(
      "saturating_sms",
      [](const Device& device, const Kernel& kernel, double share) {
        require(share > 0, "share must be above 0, got " + shown(share));
        require_in("share", share, 0, 1);
        return saturating_sms(device, kernel, share);
      },
      py::arg("device"), py::arg("kernel"), py::arg("share") = saturated_speed);
}

}  // namespace gpushare::bindings
