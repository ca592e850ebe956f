// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "core/model/device.hpp"

namespace gpushare::bindings {
namespace {

template <class Table, Duration Table::* field>
std::int64_t figure_in_ns(const Table& table) {
  return count(table.*field);
}

template <Duration CoRunTuning::* field>
constexpr auto co_run_ns = &figure_in_ns<CoRunTuning, field>;
template <Duration RuntimeTuning::* field>
constexpr auto runtime_ns = &figure_in_ns<RuntimeTuning, field>;

void bind_co_run_tuning(py::module_& module) {
  const CoRunTuning usual;
  py::class_<CoRunTuning>(module, "CoRunTuning",
                          "What co-scheduling costs on a device, and what it has to promise there.")
      .def(py::init([](std::int64_t plan_latency, std::int64_t allocation_settling, std::int64_t switch_cost,
                       std::int64_t longest_backlog, double unequal_parts, double sharing, double doubtful_co_running,
                       double serial_whole) {
             return CoRunTuning{Duration(plan_latency), Duration(allocation_settling),
                                Duration(switch_cost),  Duration(longest_backlog),
                                unequal_parts,          sharing,
                                doubtful_co_running,    serial_whole};
           }),
           py::kw_only(), py::arg("plan_latency_ns") = count(usual.plan_latency),
           py::arg("allocation_settling_ns") = count(usual.allocation_settling),
           py::arg("switch_cost_ns") = count(usual.switch_cost),
           py::arg("longest_backlog_ns") = count(usual.longest_backlog),
           py::arg("gain_of_unequal_parts") = usual.gain_of_unequal_parts,
           py::arg("gain_of_sharing") = usual.gain_of_sharing,
           py::arg("gain_of_doubtful_co_running") = usual.gain_of_doubtful_co_running,
           py::arg("gain_of_serial_whole") = usual.gain_of_serial_whole)
      .def_property_readonly("plan_latency_ns", co_run_ns<&CoRunTuning::plan_latency>)
      .def_property_readonly("allocation_settling_ns", co_run_ns<&CoRunTuning::allocation_settling>)
      .def_property_readonly("switch_cost_ns", co_run_ns<&CoRunTuning::switch_cost>)
      .def_property_readonly("longest_backlog_ns", co_run_ns<&CoRunTuning::longest_backlog>)
      .def_readonly("gain_of_unequal_parts", &CoRunTuning::gain_of_unequal_parts)
      .def_readonly("gain_of_sharing", &CoRunTuning::gain_of_sharing)
      .def_readonly("gain_of_doubtful_co_running", &CoRunTuning::gain_of_doubtful_co_running)
      .def_readonly("gain_of_serial_whole", &CoRunTuning::gain_of_serial_whole);
}

RuntimeTuning runtime_tuning(std::int64_t shortest_poll_wait, std::int64_t longest_poll_wait, std::int64_t late_poll,
                             std::int64_t late_poll_with_place, std::int64_t time_for_events,
                             std::int64_t first_top_up_patience, std::int64_t longest_top_up_patience,
                             std::int64_t work_per_claim, std::int64_t brief_launch, std::int64_t longest_passing,
                             std::int64_t short_block, std::int64_t partition_worth) {
  return {.shortest_poll_wait = Duration(shortest_poll_wait),
          .longest_poll_wait = Duration(longest_poll_wait),
          .late_poll = Duration(late_poll),
          .late_poll_with_place = Duration(late_poll_with_place),
          .time_for_events = Duration(time_for_events),
          .first_top_up_patience = Duration(first_top_up_patience),
          .longest_top_up_patience = Duration(longest_top_up_patience),
          .work_per_claim = Duration(work_per_claim),
          .brief_launch = Duration(brief_launch),
          .longest_passing = Duration(longest_passing),
          .short_block = Duration(short_block),
          .partition_worth = Duration(partition_worth)};
}

void bind_runtime_tuning(py::module_& module) {
  const RuntimeTuning usual;
  py::class_<RuntimeTuning>(module, "RuntimeTuning",
                            "What the runtime of a real GPU waits for, and when it acts, by the costs of that GPU.")
      .def(py::init(&runtime_tuning), py::kw_only(), py::arg("shortest_poll_wait_ns") = count(usual.shortest_poll_wait),
           py::arg("longest_poll_wait_ns") = count(usual.longest_poll_wait),
           py::arg("late_poll_ns") = count(usual.late_poll),
           py::arg("late_poll_with_place_ns") = count(usual.late_poll_with_place),
           py::arg("time_for_events_ns") = count(usual.time_for_events),
           py::arg("first_top_up_patience_ns") = count(usual.first_top_up_patience),
           py::arg("longest_top_up_patience_ns") = count(usual.longest_top_up_patience),
           py::arg("work_per_claim_ns") = count(usual.work_per_claim),
           py::arg("brief_launch_ns") = count(usual.brief_launch),
           py::arg("longest_passing_ns") = count(usual.longest_passing),
           py::arg("short_block_ns") = count(usual.short_block),
           py::arg("partition_worth_ns") = count(usual.partition_worth))
      .def_property_readonly("shortest_poll_wait_ns", runtime_ns<&RuntimeTuning::shortest_poll_wait>)
      .def_property_readonly("longest_poll_wait_ns", runtime_ns<&RuntimeTuning::longest_poll_wait>)
      .def_property_readonly("late_poll_ns", runtime_ns<&RuntimeTuning::late_poll>)
      .def_property_readonly("late_poll_with_place_ns", runtime_ns<&RuntimeTuning::late_poll_with_place>)
      .def_property_readonly("time_for_events_ns", runtime_ns<&RuntimeTuning::time_for_events>)
      .def_property_readonly("first_top_up_patience_ns", runtime_ns<&RuntimeTuning::first_top_up_patience>)
      .def_property_readonly("longest_top_up_patience_ns", runtime_ns<&RuntimeTuning::longest_top_up_patience>)
      .def_property_readonly("work_per_claim_ns", runtime_ns<&RuntimeTuning::work_per_claim>)
      .def_property_readonly("brief_launch_ns", runtime_ns<&RuntimeTuning::brief_launch>)
      .def_property_readonly("longest_passing_ns", runtime_ns<&RuntimeTuning::longest_passing>)
      .def_property_readonly("short_block_ns", runtime_ns<&RuntimeTuning::short_block>)
      .def_property_readonly("partition_worth_ns", runtime_ns<&RuntimeTuning::partition_worth>);
}

}  // namespace

void bind_device_tuning(py::module_& module) {
  bind_co_run_tuning(module);
  bind_runtime_tuning(module);
}

}  // namespace gpushare::bindings
