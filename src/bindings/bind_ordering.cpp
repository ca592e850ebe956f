// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <cmath>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "bindings/stopwatch.hpp"
#include "core/ordering/kernel_time.hpp"
#include "core/ordering/ordering_registry.hpp"
#include "core/ordering/solvers/delay_equations.hpp"

namespace gpushare::bindings {
namespace {

using TaskTimes = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

constexpr double most_limit_s = 1e6;

std::vector<Task> tasks_from(const std::vector<TaskTimes>& times) {
  std::vector<Task> tasks;
  for (const auto& [uplink_ns, compute_ns, downlink_ns] : times) {
    tasks.push_back(
        {.uplink = Duration(uplink_ns), .compute = Duration(compute_ns), .downlink = Duration(downlink_ns)});
  }
  return tasks;
}

OrderedTasks order_tasks(const std::vector<TaskTimes>& times, const std::string& ordering, const TaskTimes& engines_ns,
                         std::int64_t nodes, std::optional<double> limit_s) {
  const std::vector<Task> tasks = tasks_from(times);
  require(nodes >= 0, "nodes must be 0 or more, got " + std::to_string(nodes));
  if (limit_s) require_in("limit_s", *limit_s, 0, most_limit_s);
  const EnginesState engines{.uplink = Duration(std::get<0>(engines_ns)),
                             .compute = Duration(std::get<1>(engines_ns)),
                             .downlink = Duration(std::get<2>(engines_ns))};
  const auto makes = make_solver(ordering);
  const py::gil_scoped_release no_gil;
  return makes->order({.tasks = tasks, .engines = engines},
                      {.nodes = nodes, .stop = limit_s ? over_after(Duration(std::llrint(*limit_s * 1e9))) : nullptr});
}

void bind_tables(py::module_& module) {
  py::class_<OrderingEntry>(module, "OrderingEntry", "One line of the table of orderings.")
      .def_property_readonly("name", [](const OrderingEntry& entry) { return std::string(entry.name); })
      .def_property_readonly("summary", [](const OrderingEntry& entry) { return std::string(entry.summary); })
      .def_property_readonly("source", [](const OrderingEntry& entry) { return std::string(entry.source); })
      .def_property_readonly("has_windows", &OrderingEntry::has_windows, "Does it put windows of tasks in order?");
  module.def("orderings", [] { return std::vector<OrderingEntry>(orderings().begin(), orderings().end()); });
  module.def(
      "require_open_ordering", [](const std::string& name) { require_open_ordering(name); }, py::arg("name"),
      "Raise InvalidInput unless this names an ordering that a session can have, with options behind it.");
}

void bind_solving(py::module_& module) {
  py::class_<OrderedTasks>(module, "OrderedTasks", "What a solver answers. Times in nanoseconds.")
      .def_readonly("order", &OrderedTasks::order, "Positions in the list of tasks.")
      .def_readonly("cost_ns", &OrderedTasks::cost_ns, "The makespan of this order.")
      .def_readonly("lower_bound_ns", &OrderedTasks::lower_bound_ns, "No order has a smaller one.")
      .def_readonly("nodes", &OrderedTasks::nodes)
      .def_property_readonly("is_proven_best", &OrderedTasks::is_proven_best);
  module.def("order_tasks", &order_tasks, py::arg("tasks"), py::arg("ordering"), py::kw_only(),
             py::arg("engines_ns") = TaskTimes{}, py::arg("nodes") = SearchLimits{}.nodes,
             py::arg("limit_s") = py::none(),
             "Puts tasks, each (uplink, compute, downlink) in nanoseconds, in order as this ordering does with a "
             "window, for the "
             "smallest makespan on engines that are free at these times. After so many steps, or seconds, the best "
             "order so far. Releases the GIL.");
  module.def(
      "total_time_ns",
      [](const std::vector<TaskTimes>& tasks, const std::vector<int>& order, bool as_printed) {
        const auto equations = as_printed ? DelayEquations::AsPrinted : DelayEquations::AsCorrected;
        return count(total_time(tasks_from(tasks), order, equations));
      },
      py::arg("tasks"), py::arg("order"), py::kw_only(), py::arg("as_printed") = false,
      "CuMAS, Eqs. 1 to 3: nanoseconds until the last task of the order has ended, on engines that are free. A task "
      "does not wait for an engine that it does not use. Raises InvalidInput for negative durations, more than 200 "
      "years of them, and an order that names a task twice or one that is not there.");
}

void bind_kernel_time(py::module_& module) {
  py::class_<KernelTime>(module, "KernelTime", "How long a launch takes alone, from launches of the same kernel.")
      .def(py::init<>())
      .def(
          "add",
          [](KernelTime& times, std::int64_t blocks, std::int64_t time_ns) {
            require_in("blocks", blocks, 1);
            require_in("time_ns", time_ns, 0);
            times.add(blocks, Duration(time_ns));
          },
          py::arg("blocks"), py::arg("time_ns"))
      .def_property_readonly("is_linear", &KernelTime::is_linear, "Do the times grow with the blocks, as far as known?")
      .def(
          "of",
          [](const KernelTime& times, std::int64_t blocks) {
            require_in("blocks", blocks, 1);
            return optional_count(times.of(blocks));
          },
          py::arg("blocks"), "Nanoseconds, or None before the first run.");
  py::class_<KernelTimes, std::shared_ptr<KernelTimes>>(
      module, "KernelTimes", "What orderings have learnt of kernels: handed from run to run on a GPU.")
      .def(py::init<>())
      .def_property_readonly("size", &KernelTimes::size, "Of how many kernels.");
}

}  // namespace

void bind_ordering(py::module_& module) {
  bind_tables(module);
  bind_solving(module);
  bind_kernel_time(module);
}

}  // namespace gpushare::bindings
