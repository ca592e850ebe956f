// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <limits>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "core/predictors/accuracy.hpp"

namespace gpushare::bindings {
namespace {

py::dict columns_of(const std::vector<PredictionCheck>& checks) {
  std::vector<std::int64_t> launch, sm, actual, staircase, slice_unaware, simple_slicing;
  std::vector<double> regression;
  for (const PredictionCheck& check : checks) {
    launch.push_back(static_cast<std::int64_t>(check.launch));
    sm.push_back(static_cast<std::int64_t>(check.sm));
    actual.push_back(count(check.actual));
    staircase.push_back(count(check.staircase));
    slice_unaware.push_back(count(check.slice_unaware));
    simple_slicing.push_back(count(check.simple_slicing));
    regression.push_back(check.regression ? nanoseconds(*check.regression) : std::numeric_limits<double>::quiet_NaN());
  }
  return py::dict(py::arg("launch") = launch, py::arg("sm") = sm, py::arg("actual_ns") = actual,
                  py::arg("staircase_ns") = staircase, py::arg("slice_unaware_ns") = slice_unaware,
                  py::arg("simple_slicing_ns") = simple_slicing, py::arg("regression_ns") = regression);
}

}  // namespace

void bind_accuracy(py::module_& module) {
  module.def(
      "check_predictions",
      [](const Trace& trace, const Device& device, const Workload& workload) {
        return columns_of(check_predictions(trace, device, workload));
      },
      py::arg("trace"), py::arg("device"), py::arg("workload"),
      "Columns launch, sm, actual_ns and the predictions of each model in ns; one row per launch and SM.");
}

}  // namespace gpushare::bindings
