// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "core/calibration/kernel_fit.hpp"
#include "core/calibration/transfer_fit.hpp"
#include "core/model/errors.hpp"

namespace gpushare::bindings {
namespace {

struct FittedKernel {
  BlockCost cost;
  std::vector<double> residuals;
};

std::vector<RatePoint> points_of(const std::vector<int>& sms, const std::vector<int>& residency,
                                 const std::vector<double>& blocks_per_ns, const std::vector<double>& weights) {
  if (sms.size() != residency.size() || sms.size() != blocks_per_ns.size() || sms.size() != weights.size()) {
    throw InvalidInput("the columns of a curve must be of one length");
  }
  std::vector<RatePoint> points;
  for (std::size_t i = 0; i < sms.size(); ++i) points.push_back({sms[i], residency[i], blocks_per_ns[i], weights[i]});
  return points;
}

void bind_fitted_kernel(py::module_& module) {
  py::class_<FittedKernel>(module, "FittedKernel", "What a block costs, as curves of rates say, and how well it fits.")
      .def_property_readonly("latency_ns", [](const FittedKernel& fit) { return count(fit.cost.latency); })
      .def_property_readonly("issue_ns", [](const FittedKernel& fit) { return count(fit.cost.issue); })
      .def_property_readonly("memory_ns", [](const FittedKernel& fit) { return count(fit.cost.memory); })
      .def_property_readonly("off_sm_bytes", [](const FittedKernel& fit) { return fit.cost.off_sm.count; })
      .def_property_readonly("llc_hit_ratio", [](const FittedKernel& fit) { return fit.cost.llc_hit_ratio; })
      .def_property_readonly("dram_cost_ratio", [](const FittedKernel& fit) { return fit.cost.dram_cost_ratio; })
      .def_readonly("residuals", &FittedKernel::residuals);
}

}  // namespace

void bind_calibration(py::module_& module) {
  bind_fitted_kernel(module);
  module.def(
      "fit_kernel",
      [](const std::vector<int>& sms, const std::vector<int>& residency, const std::vector<double>& blocks_per_ns,
         const std::vector<double>& weights, double cache_bytes, double dram_bytes, double memory_ns,
         const Device& device) {
        const KernelFit fit =
            fit_kernel(points_of(sms, residency, blocks_per_ns, weights),
                       {.cache_bytes = cache_bytes, .dram_bytes = dram_bytes, .memory = memory_ns}, device.off_sm);
        return FittedKernel{cost_of(fit.block), fit.residuals};
      },
      py::kw_only(), py::arg("sms"), py::arg("residency"), py::arg("blocks_per_ns"), py::arg("weights"),
      py::arg("cache_bytes"), py::arg("dram_bytes"), py::arg("memory_ns"), py::arg("device"),
      py::call_guard<py::gil_scoped_release>(), "The contention model of a kernel from its rates in parts of a GPU.");

  py::class_<TransferFit>(module, "TransferFit", "Time of a copy = latency + bytes * ns_per_byte.")
      .def_readonly("ns_per_byte", &TransferFit::ns_per_byte)
      .def_readonly("latency_ns", &TransferFit::latency_ns)
      .def_readonly("residuals", &TransferFit::residuals);
  module.def(
      "fit_transfer",
      [](const std::vector<double>& bytes, const std::vector<double>& nanoseconds) {
        if (bytes.size() != nanoseconds.size()) throw InvalidInput("the columns of a curve must be of one length");
        std::vector<TransferPoint> points;
        for (std::size_t i = 0; i < bytes.size(); ++i) points.push_back({bytes[i], nanoseconds[i]});
        return fit_transfer(points);
      },
      py::arg("bytes"), py::arg("nanoseconds"), "The transfer model from measured copies.");
}

}  // namespace gpushare::bindings
