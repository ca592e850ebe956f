// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <limits>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "bindings/state_views.hpp"
#include "core/model/errors.hpp"
#include "core/predictors/drain_rate.hpp"
#include "core/predictors/linear_regression.hpp"
#include "core/predictors/remembering_drain.hpp"
#include "core/predictors/simple_slicing.hpp"
#include "core/predictors/staircase.hpp"

namespace gpushare::bindings {
namespace {

/// Python gets None where the core requires has_sample() first.
std::optional<std::int64_t> remaining(const SimpleSlicing& predictor, const LaunchView& launch, std::optional<int> sm) {
  if (!predictor.has_sample(*launch)) return std::nullopt;
  if (!sm) return count(predictor.remaining(*launch));
  require(*sm >= 0 && static_cast<std::size_t>(*sm) < launch->per_sm.size(), "no SM " + std::to_string(*sm));
  return count(predictor.remaining(*launch, static_cast<SmId>(*sm)));
}

std::optional<std::int64_t> block_time(const SimpleSlicing& predictor, const LaunchView& launch) {
  if (!predictor.has_sample(*launch)) return std::nullopt;
  return count(predictor.block_time(*launch));
}

template <class Drain>
std::optional<std::int64_t> remaining_of(const Drain& predictor, const LaunchView& launch) {
  if (!predictor.has_sample(*launch)) return std::nullopt;
  return count(predictor.remaining(*launch, launch.snapshot->state.now()));
}

void bind_simple_slicing(py::module_& module) {
  py::class_<SimpleSlicing>(module, "SimpleSlicing")
      .def(py::init<>())
      .def(
          "observe",
          [](SimpleSlicing& self, const Event& event, const Snapshot& state) { self.observe(event, state.state); },
          py::arg("event"), py::arg("state"))
      .def("reslice", &SimpleSlicing::reslice)
      .def_property_readonly("changed", &SimpleSlicing::changed)
      .def("block_time_ns", &block_time, py::arg("launch"))
      .def("remaining_ns", &remaining, py::arg("launch"), py::arg("sm") = py::none())
      .def(
          "__deepcopy__", [](const SimpleSlicing& self, const py::dict&) { return SimpleSlicing(self); },
          py::arg("memo"));
}

/// With or without remembered corrections.
template <class Drain>
void bind_drain(py::module_& module, const char* name) {
  py::class_<Drain>(module, name)
      .def(py::init<>())
      .def(
          "observe", [](Drain& self, const Event& event, const Snapshot& state) { self.observe(event, state.state); },
          py::arg("event"), py::arg("state"))
      .def("reslice", &Drain::reslice)
      .def("remaining_ns", &remaining_of<Drain>, py::arg("launch"))
      .def("__deepcopy__", [](const Drain& self, const py::dict&) { return Drain(self); }, py::arg("memo"));
}

}  // namespace

void bind_predictors(py::module_& module) {
  bind_simple_slicing(module);
  bind_drain<DrainRate>(module, "DrainRate");
  bind_drain<RememberingDrain>(module, "RememberingDrain");
  module.def(
      "staircase_runtime",
      [](std::int64_t blocks, int residency, std::int64_t block_time_ns) {
        require(blocks >= 0 && residency > 0 && block_time_ns >= 0,
                "the staircase model needs blocks >= 0, residency > 0 and a block time >= 0");
        const std::int64_t steps = blocks / residency + (blocks % residency != 0 ? 1 : 0);
        require(steps == 0 || block_time_ns <= std::numeric_limits<std::int64_t>::max() / steps,
                std::to_string(steps) + " steps of " + std::to_string(block_time_ns) + " ns are more than 2^63 ns");
        return count(staircase_runtime(blocks, residency, Duration(block_time_ns)));
      },
      py::arg("blocks"), py::arg("residency"), py::arg("block_time_ns"));
  module.def(
      "linear_regression_runtime",
      [](const std::vector<std::int64_t>& ends_ns, std::int64_t blocks) {
        require_in("blocks", blocks, 0);
        LinearRegression line;
        for (const std::int64_t end : ends_ns) {
          require_in("a block's end", end, 0);
          line.add_end(Duration(end));
        }
        return optional_count(line.runtime(blocks));
      },
      py::arg("ends_ns"), py::arg("blocks"));
}

}  // namespace gpushare::bindings
