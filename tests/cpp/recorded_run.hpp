// SPDX-License-Identifier: Apache-2.0
// Runs a workload on the simulated GPU and answers questions about what happened, in nanoseconds.
#pragma once

#include <array>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/policies/registry.hpp"
#include "core/simulation/simulated_gpu.hpp"
#include "core/trace/trace_recorder.hpp"

namespace gpushare::test {

/// A policy that is one function of the state; it decides when every policy does.
class ScriptedPolicy : public Policy {
 public:
  explicit ScriptedPolicy(std::function<Plan(const State&)> decide) : decide_(std::move(decide)) {}
  Plan decide(const State& state) const override { return decide_(state); }

 private:
  std::function<Plan(const State&)> decide_;
};

inline Trace record(const Device& device, const Workload& workload, Policy& policy, std::uint64_t seed = 1) {
  SimulatedGpu gpu(device, seed);
  TraceRecorder recorder;
  const std::array<RunObserver*, 1> observers{&recorder};
  run(gpu, policy, workload, observers);
  return recorder.take();
}

inline Trace record(const Device& device, const Workload& workload, std::string_view policy, std::uint64_t seed = 1) {
  return record(device, workload, *make_policy(policy), seed);
}

inline Trace record(const Device& device, const Workload& workload, std::function<Plan(const State&)> decide) {
  ScriptedPolicy policy(std::move(decide));
  return record(device, workload, policy);
}

constexpr std::int64_t ns(Time time) { return time.time_since_epoch().count(); }

constexpr OperationId operation(int number) { return static_cast<OperationId>(number); }

inline std::vector<Event> events_of(const Trace& trace, EventKind kind, int of_operation) {
  std::vector<Event> events;
  for (const Event& event : trace.events) {
    if (event.kind == kind && event.operation == operation(of_operation)) events.push_back(event);
  }
  return events;
}

/// When the blocks of a launch started, in the order in which they did.
inline std::vector<std::int64_t> block_starts(const Trace& trace, int launch) {
  std::vector<std::int64_t> times;
  for (const Event& event : events_of(trace, EventKind::BlockStarted, launch)) times.push_back(ns(event.time));
  return times;
}

/// The SMs on which the blocks of a launch started, in the order in which they did.
inline std::vector<int> block_sms(const Trace& trace, int launch) {
  std::vector<int> sms;
  for (const Event& event : events_of(trace, EventKind::BlockStarted, launch))
    sms.push_back(static_cast<int>(event.sm));
  return sms;
}

/// How long the blocks of a launch took, by block.
inline std::vector<std::int64_t> block_times(const Trace& trace, int launch) {
  const std::vector<Event> ends = events_of(trace, EventKind::BlockEnded, launch);
  std::vector<std::int64_t> times(ends.size());
  for (const Event& end : ends) times.at(static_cast<std::size_t>(end.block)) = (end.time - end.started).count();
  return times;
}

/// When an operation ended; -1 if it did not.
inline std::int64_t end_of(const Trace& trace, int of_operation) {
  for (const EventKind kind : {EventKind::LaunchEnded, EventKind::CopyEnded}) {
    for (const Event& event : events_of(trace, kind, of_operation)) return ns(event.time);
  }
  return -1;
}

/// When the last event happened.
inline std::int64_t length_of(const Trace& trace) { return ns(trace.events.back().time); }

}  // namespace gpushare::test
