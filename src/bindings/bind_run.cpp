// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "bindings/python_policy.hpp"
#include "core/engine.hpp"
#include "core/metrics.hpp"
#include "core/policies/registry.hpp"
#include "core/simulation/simulated_gpu.hpp"

namespace gpushare::bindings {
namespace {

/// What one run leaves behind. Times in nanoseconds.
struct RunRecord {
  std::vector<std::int64_t> arrivals;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> operation_durations;
  std::vector<std::int64_t> sm_busy;
  std::int64_t to_device_busy = 0;
  std::int64_t to_host_busy = 0;
  std::int64_t makespan = 0;
  std::int64_t blocks = 0;
  std::optional<Trace> trace;
};

/// Ends a run with KeyboardInterrupt when its user presses Ctrl-C, or when the comparison it belongs to has ended.
class Interruption : public RunObserver {
 public:
  /// `ended` is a callable, or None where nothing but Ctrl-C can end the run.
  explicit Interruption(py::object ended) : ended_(std::move(ended)) {}

  void saw(const Event& /*event*/) override {
    if (++events_ % events_between_looks != 0) return;
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (ended_.is_none() || !py::bool_(ended_())) return;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw py::error_already_set();
  }

 private:
  // Some milliseconds: the GIL costs nothing at that pace, and nobody notices the wait.
  static constexpr std::int64_t events_between_looks = 1 << 16;

  py::object ended_;
  std::int64_t events_ = 0;
};

/// Owns what states, events and policies of one run point into.
struct World {
  World(const Device& device, Workload workload, std::uint64_t seed)
      : workload(std::move(workload)), gpu(device, seed) {}
  Workload workload;
  SimulatedGpu gpu;
};

std::unique_ptr<Policy> to_policy(const py::object& policy, std::shared_ptr<const void> world) {
  if (py::isinstance<py::str>(policy)) return make_policy(policy.cast<std::string>());
  return wrap_python_policy(policy, std::move(world));
}

std::vector<std::int64_t> counts(const std::vector<Duration>& durations) {
  std::vector<std::int64_t> values;
  for (const Duration duration : durations) values.push_back(count(duration));
  return values;
}

RunRecord record_of(const UsageMeter& meter) {
  RunRecord record{.operation_durations = counts(meter.operation_durations()),
                   .sm_busy = counts(meter.sm_busy()),
                   .to_device_busy = count(meter.to_device_busy()),
                   .to_host_busy = count(meter.to_host_busy()),
                   .makespan = count(meter.makespan()),
                   .blocks = meter.blocks()};
  for (const ApplicationTimes& times : meter.applications()) {
    record.arrivals.push_back(count(times.arrival));
    record.ends.push_back(count(times.end));
  }
  return record;
}

RunRecord simulate(const Device& device, const Workload& workload, const py::object& policy, std::uint64_t seed,
                   bool record_trace, const py::object& ended) {
  const auto world = std::make_shared<World>(device, workload, seed);
  const std::unique_ptr<Policy> decides = to_policy(policy, world);
  UsageMeter meter(world->gpu.device(), world->workload);
  TraceRecorder recorder;
  Interruption interruption(ended);
  std::vector<RunObserver*> observers{&meter, &interruption};
  if (record_trace) observers.push_back(&recorder);
  {
    const py::gil_scoped_release no_gil;
    run(world->gpu, *decides, world->workload, observers);
  }
  RunRecord record = record_of(meter);
  if (record_trace) record.trace = recorder.take();
  return record;
}

Trace replay(const Trace& trace, const Device& device, const Workload& workload, const py::object& policy) {
  const auto world = std::make_shared<World>(device, workload, 0);
  const std::unique_ptr<Policy> decides = to_policy(policy, world);
  const py::gil_scoped_release no_gil;
  return {.events = trace.events, .decisions = decide_again(trace, world->gpu.device(), world->workload, *decides)};
}

}  // namespace

void bind_run(py::module_& module) {
  py::class_<RunRecord>(module, "RunRecord", "What one run leaves behind. Times in nanoseconds.")
      .def(py::init([](std::vector<std::int64_t> arrivals, std::vector<std::int64_t> ends,
                       std::vector<std::int64_t> operation_durations, std::vector<std::int64_t> sm_busy,
                       std::int64_t to_device_busy, std::int64_t to_host_busy, std::int64_t makespan,
                       std::int64_t blocks, std::optional<Trace> trace) {
             return RunRecord{std::move(arrivals),
                              std::move(ends),
                              std::move(operation_durations),
                              std::move(sm_busy),
                              to_device_busy,
                              to_host_busy,
                              makespan,
                              blocks,
                              std::move(trace)};
           }),
           py::kw_only(), py::arg("arrivals"), py::arg("ends"), py::arg("operation_durations"), py::arg("sm_busy"),
           py::arg("to_device_busy"), py::arg("to_host_busy"), py::arg("makespan"), py::arg("blocks"),
           py::arg("trace") = py::none())
      .def_readonly("arrivals", &RunRecord::arrivals, "Per application.")
      .def_readonly("ends", &RunRecord::ends, "Per application.")
      .def_readonly("operation_durations", &RunRecord::operation_durations,
                    "Per operation: a launch from its arrival, a copy from its start, to its end.")
      .def_readonly("sm_busy", &RunRecord::sm_busy, "Per SM: time with at least one resident block.")
      .def_readonly("to_device_busy", &RunRecord::to_device_busy)
      .def_readonly("to_host_busy", &RunRecord::to_host_busy)
      .def_readonly("makespan", &RunRecord::makespan)
      .def_readonly("blocks", &RunRecord::blocks)
      .def_readonly("trace", &RunRecord::trace, "The trace, or None where it was not recorded.");

  module.def(
      "simulate", &simulate, py::arg("device"), py::arg("workload"), py::arg("policy"), py::kw_only(),
      py::arg("seed") = 0, py::arg("record") = false, py::arg("ended") = py::none(),
      "Runs the workload on the simulated GPU. Releases the GIL, so that runs can share the cores. Ctrl-C ends it, "
      "and so does ended() once it returns True.");
  module.def("replay", &replay, py::arg("trace"), py::arg("device"), py::arg("workload"), py::arg("policy"),
             "The trace with the decisions that this policy takes on its events, without a device.");
}

}  // namespace gpushare::bindings
