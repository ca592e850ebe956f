// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <limits>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "core/trace/accuracy.hpp"
#include "core/trace/predictions_over_time.hpp"

namespace gpushare::bindings {
namespace {

double number(const std::optional<Duration>& duration) {
  return duration ? nanoseconds(*duration) : std::numeric_limits<double>::quiet_NaN();
}

py::dict columns_of(const std::vector<PredictionCheck>& checks) {
  std::vector<std::int64_t> launch, sm, actual, staircase, slice_unaware, simple_slicing;
  std::vector<double> drain_rate, regression;
  for (const PredictionCheck& check : checks) {
    launch.push_back(static_cast<std::int64_t>(check.launch));
    sm.push_back(static_cast<std::int64_t>(check.sm));
    actual.push_back(count(check.actual));
    staircase.push_back(count(check.staircase));
    slice_unaware.push_back(count(check.slice_unaware));
    simple_slicing.push_back(count(check.simple_slicing));
    drain_rate.push_back(number(check.drain_rate));
    regression.push_back(number(check.regression));
  }
  return py::dict(py::arg("launch") = launch, py::arg("sm") = sm, py::arg("actual_ns") = actual,
                  py::arg("staircase_ns") = staircase, py::arg("slice_unaware_ns") = slice_unaware,
                  py::arg("simple_slicing_ns") = simple_slicing, py::arg("drain_rate_ns") = drain_rate,
                  py::arg("regression_ns") = regression);
}

py::dict columns_of(const std::vector<LaunchPrediction>& predictions) {
  std::vector<std::int64_t> launch, time, done, staircase, regression, simple_slicing, drain_rate, remembering;
  for (const LaunchPrediction& prediction : predictions) {
    launch.push_back(static_cast<std::int64_t>(prediction.launch));
    time.push_back(count(prediction.time));
    done.push_back(prediction.done);
    staircase.push_back(count(prediction.staircase));
    regression.push_back(count(prediction.regression));
    simple_slicing.push_back(count(prediction.simple_slicing));
    drain_rate.push_back(count(prediction.drain_rate));
    remembering.push_back(count(prediction.remembering_drain));
  }
  return py::dict(py::arg("launch") = launch, py::arg("time_ns") = time, py::arg("done") = done,
                  py::arg("staircase_ns") = staircase, py::arg("regression_ns") = regression,
                  py::arg("simple_slicing_ns") = simple_slicing, py::arg("drain_rate_ns") = drain_rate,
                  py::arg("remembering_drain_ns") = remembering);
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
  module.def(
      "predictions_over_time",
      [](const Trace& trace, const Device& device, const Workload& workload) {
        return columns_of(predictions_over_time(trace, device, workload));
      },
      py::arg("trace"), py::arg("device"), py::arg("workload"),
      "Columns launch, time_ns, done (blocks) and each model's prediction of the time from the launch's arrival to its "
      "end; one row per moment at which blocks of it ended.");
}

}  // namespace gpushare::bindings
