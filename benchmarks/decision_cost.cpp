// SPDX-License-Identifier: Apache-2.0
// What a policy costs by itself: a run is recorded once under each policy, and its events are then replayed to it
// without a device, as decide_again() does.
#include <chrono>

#include "core/trace/trace_recorder.hpp"
#include "scenario.hpp"

namespace gpushare::benchmarks {
namespace {

constexpr Scenario eight_applications{.applications = 8, .blocks = 100'000};

/// The events of a run under a policy, ready to be replayed to a fresh copy of it.
struct Recording {
  explicit Recording(std::string_view policy) : policy(policy) {
    SimulatedGpu gpu(device, 1);
    TraceRecorder recorder;
    const std::array<RunObserver*, 1> observers{&recorder};
    run(gpu, *make_policy(policy), workload, observers);
    events = recorder.take().events;
  }

  std::string_view policy;
  Device device = device_of(eight_applications);
  Workload workload = workload_of(eight_applications);
  std::vector<Event> events;
};

Recording recording_for(benchmark::State& timing) {
  const PolicyEntry& policy = policies()[static_cast<std::size_t>(timing.range(0))];
  timing.SetLabel(std::string(policy.name));
  return Recording(policy.name);
}

void every_policy(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("policy")->DenseRange(0, static_cast<int>(policies().size()) - 1);
}

/// The fold over events that every policy needs: to be subtracted from observe_and_wants.
void update_state(benchmark::State& timing) {
  const Recording recording("fifo");
  for (auto _ : timing) {
    State state(recording.device, recording.workload);
    for (const Event& event : recording.events) {
      state.update(event);
      benchmark::DoNotOptimize(state);
    }
  }
  timing.SetItemsProcessed(timing.iterations() * static_cast<std::int64_t>(recording.events.size()));
}
BENCHMARK(update_state)->Unit(benchmark::kMicrosecond);

void observe_and_wants(benchmark::State& timing) {
  const Recording recording = recording_for(timing);
  for (auto _ : timing) {
    State state(recording.device, recording.workload);
    const auto policy = make_policy(recording.policy);
    for (const Event& event : recording.events) {
      state.update(event);
      policy->observe(event, state);
      benchmark::DoNotOptimize(policy->wants(event));
    }
  }
  timing.SetItemsProcessed(timing.iterations() * static_cast<std::int64_t>(recording.events.size()));
}
BENCHMARK(observe_and_wants)->Apply(every_policy)->Unit(benchmark::kMicrosecond);

/// Seconds for one decision in this state. A decision changes nothing, so it is repeated until a clock can see it.
double seconds_to_decide(const Policy& policy, const State& state) {
  constexpr int repetitions = 16;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repetitions; ++i) benchmark::DoNotOptimize(policy.decide(state));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repetitions;
}

/// The time shown is that of all decisions of a run; the counters give their number and the time of one.
void decide(benchmark::State& timing) {
  const Recording recording = recording_for(timing);
  std::int64_t decisions = 0;
  double total = 0;
  for (auto _ : timing) {
    State state(recording.device, recording.workload);
    const auto policy = make_policy(recording.policy);
    const double before = total;
    for (const Event& event : recording.events) {
      state.update(event);
      policy->observe(event, state);
      if (state.running().empty() || !policy->wants(event)) continue;
      total += seconds_to_decide(*policy, state);
      ++decisions;
    }
    timing.SetIterationTime(total - before);
  }
  timing.SetItemsProcessed(decisions);
  timing.counters["decisions"] = static_cast<double>(decisions) / static_cast<double>(timing.iterations());
  timing.counters["ns_each"] = total * 1e9 / static_cast<double>(decisions);
}
// A fixed number of iterations: there are few decisions in a replay, and their time alone would ask for thousands.
BENCHMARK(decide)->Apply(every_policy)->UseManualTime()->Iterations(5)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gpushare::benchmarks
