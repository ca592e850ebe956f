// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "bindings/runs/run_record.hpp"
#include "core/ordering/ordering_registry.hpp"
#include "core/simulation/simulated_gpu.hpp"
#include "core/trace/trace_recorder.hpp"

namespace gpushare::bindings {
namespace {

/// Owns the objects that states, events and policies of one run point to.
struct World {
  World(const Device& device, Workload workload, std::uint64_t seed)
      : workload(std::move(workload)), gpu(device, seed) {}
  Workload workload;
  SimulatedGpu gpu;
};

RunRecord simulate(const Device& device, const Workload& workload, const py::object& policy, std::uint64_t seed,
                   bool record_trace, const py::object& ended) {
  const auto world = std::make_shared<World>(device, workload, seed);
  const auto [ordering_name, sharing] = in_two_parts(policy);
  const std::unique_ptr<Policy> decides = to_policy(sharing, world, seed);
  const auto ordering = make_ordering(ordering_name, world->gpu.device(), world->workload);
  UsageMeter meter(world->gpu.device(), world->workload);
  std::optional<TraceRecorder> recorder;
  Interruption interruption(ended);
  std::vector<RunObserver*> observers{&meter, &interruption};
  if (record_trace) observers.push_back(&recorder.emplace());
  {
    const py::gil_scoped_release no_gil;
    run(world->gpu, *decides, world->workload, observers, ordering.get());
  }
  RunRecord record = record_of(meter);
  if (recorder) record.trace = recorder->take();
  return record;
}

Trace replay(const Trace& trace, const Device& device, const Workload& workload, const py::object& policy,
             std::uint64_t seed) {
  const auto world = std::make_shared<World>(device, workload, seed);
  const std::unique_ptr<Policy> decides = to_policy(in_two_parts(policy).second, world, seed);
  const py::gil_scoped_release no_gil;
  return {.events = trace.events, .decisions = decide_again(trace, world->gpu.device(), world->workload, *decides)};
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
      "simulate", &simulate, py::arg("device"), py::arg("workload"), py::arg("policy"), py::kw_only(),
      py::arg("seed") = 0, py::arg("record") = false, py::arg("ended") = py::none(),
      "Runs the workload on the simulated GPU. Releases the GIL, so that runs can share the cores. Ctrl-C ends it, "
      "and so does ended() once it returns True.");
  module.def(
      "replay", &replay, py::arg("trace"), py::arg("device"), py::arg("workload"), py::arg("policy"),
      py::arg("seed") = 0,
      "The trace with the decisions that this policy takes on its events in a run of this seed, without a device.");
}

}  // namespace gpushare::bindings
