// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <deque>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "bindings/runs/scheduled_device.hpp"
#include "core/model/errors.hpp"
#include "core/placements/registry.hpp"
#include "core/simulation/simulated_gpu_set.hpp"

namespace gpushare::bindings {
namespace {

/// Owns the objects that states, events and policies of one run point to.
struct World {
  World(const std::vector<Device>& devices, std::uint64_t seed) : gpus(devices, seed) {}
  std::deque<Workload> workloads;
  SimulatedGpuSet gpus;
};

/// By device; devices that were given the same object share it.
std::vector<const Workload*> take_workloads(World& world, const std::vector<py::object>& given) {
  std::vector<const Workload*> by_device;
  for (auto each = given.begin(); each != given.end(); ++each) {
    const auto same = std::find_if(given.begin(), each, [&](const py::object& other) { return other.is(*each); });
    if (same == each) world.workloads.push_back(each->cast<const Workload&>());
    by_device.push_back(same == each ? &world.workloads.back()
                                     : by_device[static_cast<std::size_t>(same - given.begin())]);
  }
  return by_device;
}

RunRecord simulate(const std::vector<Device>& devices, const std::vector<py::object>& workloads,
                   const std::vector<py::object>& policies, const std::string& place, std::uint64_t seed,
                   bool record_trace, const py::object& ended) {
  require(devices.size() == workloads.size() && devices.size() == policies.size(),
          "a run needs a workload and a policy for each of its devices");
  const auto world = std::make_shared<World>(devices, seed);
  const std::vector<const Workload*> taken = take_workloads(*world, workloads);
  const std::unique_ptr<Placement> placement = make_placement(place);
  Interruption interruption(ended);
  ScheduledDevices scheduled(record_trace);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Device& device = world->gpus.at(static_cast<DeviceId>(i)).device();
    scheduled.add(world, device, *taken[i], policies[i], seed, devices.size(), {&interruption});
  }
  {
    const py::gil_scoped_release no_gil;
    run(world->gpus, scheduled.on(), *placement);
  }
  return scheduled.take_record();
}

Trace replay(const Trace& trace, const Device& device, const Workload& workload, const py::object& policy,
             std::uint64_t seed) {
  const auto world = std::make_shared<World>(std::vector{device}, seed);
  world->workloads.push_back(workload);
  const std::unique_ptr<Policy> decides = to_policy(in_two_parts(policy).second, world, seed);
  const py::gil_scoped_release no_gil;
  return {.events = trace.events,
          .decisions = decide_again(trace, world->gpus.at({}).device(), world->workloads.front(), *decides)};
}

void bind_record(py::module_& module) {
  py::class_<RunRecord>(module, "RunRecord", "What one run leaves behind. Times in nanoseconds.")
      .def(py::init([](std::vector<std::int64_t> arrivals, std::vector<std::int64_t> ends,
                       std::vector<std::int64_t> turnarounds, std::vector<std::int64_t> operation_durations,
                       std::vector<std::int64_t> sm_busy, std::int64_t to_device_busy, std::int64_t to_host_busy,
                       std::int64_t makespan, std::int64_t blocks, std::optional<Trace> trace) {
             return RunRecord{std::move(arrivals),
                              std::move(ends),
                              std::move(turnarounds),
                              std::move(operation_durations),
                              std::move(sm_busy),
                              to_device_busy,
                              to_host_busy,
                              makespan,
                              blocks,
                              std::move(trace)};
           }),
           py::kw_only(), py::arg("arrivals"), py::arg("ends"), py::arg("turnarounds"), py::arg("operation_durations"),
           py::arg("sm_busy"), py::arg("to_device_busy"), py::arg("to_host_busy"), py::arg("makespan"),
           py::arg("blocks"), py::arg("trace") = py::none())
      .def_readonly("arrivals", &RunRecord::arrivals, "Per application.")
      .def_readonly("ends", &RunRecord::ends, "Per application.")
      .def_readonly("turnarounds", &RunRecord::turnarounds,
                    "Per application: how long it had a job in the system. Where a run's workload is known beforehand, "
                    "that is from its arrival to its end.")
      .def_readonly("operation_durations", &RunRecord::operation_durations,
                    "Per operation: a launch from its arrival, a copy from its start, to its end.")
      .def_readonly("sm_busy", &RunRecord::sm_busy, "Per SM: time with at least one resident block.")
      .def_readonly("to_device_busy", &RunRecord::to_device_busy)
      .def_readonly("to_host_busy", &RunRecord::to_host_busy)
      .def_readonly("makespan", &RunRecord::makespan)
      .def_readonly("blocks", &RunRecord::blocks)
      .def_readonly("trace", &RunRecord::trace, "The trace, or None where it was not recorded.")
      .def_readonly("began", &RunRecord::began,
                    "Time 0 of a run on a GPU by the clock of time.monotonic_ns(); None elsewhere.")
      .def_readonly("longest_pause", &RunRecord::longest_pause,
                    "The longest time between two polls of a real GPU by its scheduler; None on a simulated one.")
      .def_readonly("without_processor", &RunRecord::without_processor,
                    "How long in all that thread waited for a processor; None where there is none.");
}

}  // namespace

void bind_run(py::module_& module) {
  bind_record(module);
  module.def(
      "simulate", &simulate, py::arg("devices"), py::arg("workloads"), py::arg("policies"), py::kw_only(),
      py::arg("place") = "first-fit", py::arg("seed") = 0, py::arg("record") = false, py::arg("ended") = py::none(),
      "Runs a workload on simulated GPUs: for each, the workload with the kernels as they are there, and a policy. SMs "
      "are numbered through all of them. Releases the GIL, so that runs can share the cores. Ctrl-C ends it, and so "
      "does ended() once it returns True.");
  module.def(
      "require_placeable",
      [](const std::vector<const Device*>& devices, const std::vector<const Workload*>& workloads) {
        placement_devices(devices, workloads);
      },
      py::arg("devices"), py::arg("workloads"),
      "Raise InvalidInput unless each application can run on one of the devices; a workload for each.");
  module.def(
      "replay", &replay, py::arg("trace"), py::arg("device"), py::arg("workload"), py::arg("policy"),
      py::arg("seed") = 0,
      "The trace with the decisions that this policy takes on its events in a run of this seed, without a device.");
}

}  // namespace gpushare::bindings
