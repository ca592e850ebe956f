// SPDX-License-Identifier: Apache-2.0
// What the scheduler's thread does with one poll of a GPU: it makes events of what the workers have counted since the
// last poll, and the policy processes them. Once as the only thing the processor does, and once as it is between polls,
// when others have used its caches.
#include <chrono>
#include <random>

#include "core/engine/dispatcher.hpp"
#include "core/trace/trace_recorder.hpp"
#include "core/workers/worker_progress.hpp"
#include "scenario.hpp"

namespace gpushare::benchmarks {
namespace {

constexpr Scenario one_application{.applications = 1, .blocks = 1'000'000'000};
constexpr int workers_per_sm = 8;
/// Of one run, and few enough for the memory that a recorder has from the beginning.
constexpr int polls = 120;

enum class Caches { Warm, Cold };

/// Workers of one launch on all SMs, whose counters grow from poll to poll.
class Workers {
 public:
  explicit Workers(int sms)
      : orders_(static_cast<std::size_t>(sms), {.quota = workers_per_sm}), sms_(static_cast<std::size_t>(sms)) {}

  PolledTables next() {
    for (WorkerSm& sm : sms_) {
      const auto tasks = static_cast<std::uint32_t>(3 + random_() % 5);
      sm.workers = workers_per_sm;
      sm.tasks_done += tasks;
      sm.busy_ns += tasks * (10'000 + random_() % 1000);
      claimed_ += tasks;
    }
    return {.control = {.next_task = claimed_ + static_cast<std::uint32_t>(sms_.size()) * workers_per_sm},
            .orders = orders_,
            .sms = sms_};
  }

 private:
  std::minstd_rand random_{1};
  std::vector<WorkerOrder> orders_;
  std::vector<WorkerSm> sms_;
  std::uint32_t claimed_ = 0;
};

class NoGpu final : public Gpu {
 public:
  explicit NoGpu(const Device& device) : device_(device) {}
  const Device& device() const override { return device_; }
  void submit(const Submission& /*submission*/) override {}
  void apply(const Plan& plan) override { benchmark::DoNotOptimize(&plan); }
  void admit(OperationId /*launch*/) override {}
  void withdraw(OperationId /*operation*/) override {}
  std::optional<Event> next_event(std::optional<Time> /*deadline*/) override { return std::nullopt; }

 private:
  const Device& device_;
};

/// Pushes everything else out of the caches.
void use_caches() {
  static std::vector<std::uint64_t> elsewhere(std::size_t{8} << 20);
  for (std::uint64_t& word : elsewhere) ++word;
  benchmark::ClobberMemory();
}

template <typename Work>
double seconds(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The time shown is of a poll from counters to plan; the counters say what its parts take.
void poll(benchmark::State& timing, std::string_view policy_name, Caches caches) {
  const Device device = device_of(one_application);
  const Workload workload = workload_of(one_application);
  NoGpu gpu(device);
  const auto policy = make_policy(policy_name);
  TraceRecorder recorder;
  const std::array<RunObserver*, 1> observers{&recorder};
  Dispatcher dispatcher(gpu, *policy, State(device, workload), observers);
  dispatcher.deliver(EventKind::ApplicationArrived, ApplicationId{0});
  dispatcher.deliver({.kind = EventKind::LaunchArrived});
  Workers workers(device.sms);
  WorkerProgress progress({}, {}, one_application.blocks, device.sms);
  progress.launched(std::int64_t{device.sms} * workers_per_sm, {});
  std::vector<Event> events;
  Time now{};
  double observing = 0;
  double delivering = 0;
  for (auto _ : timing) {
    const PolledTables seen = workers.next();
    events.clear();
    now += Duration(50'000);
    if (caches == Caches::Cold) use_caches();
    const double observed = seconds([&] { progress.observe(seen, now, events); });
    const double delivered = seconds([&] {
      for (Event& event : events) {
        event.next_is_known = &event != &events.back();
        dispatcher.deliver(event);
      }
    });
    observing += observed;
    delivering += delivered;
    timing.SetIterationTime(observed + delivered);
  }
  const auto per_poll = [&](double total) {
    return benchmark::Counter(total * 1e6 / static_cast<double>(timing.iterations()));
  };
  timing.counters["observe_us"] = per_poll(observing);
  timing.counters["deliver_us"] = per_poll(delivering);
  timing.counters["events"] = static_cast<double>(events.size());
}

void settings(benchmark::internal::Benchmark* benchmark) {
  benchmark->Iterations(polls)->Repetitions(20)->ReportAggregatesOnly()->UseManualTime()->Unit(benchmark::kMicrosecond);
}
void long_run(benchmark::internal::Benchmark* benchmark) {
  benchmark->Iterations(20 * polls)->UseManualTime()->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(poll, fifo, "fifo", Caches::Warm)->Apply(settings);
BENCHMARK_CAPTURE(poll, fifo_with_cold_caches, "fifo", Caches::Cold)->Apply(settings);
BENCHMARK_CAPTURE(poll, fifo_in_a_long_run, "fifo", Caches::Warm)->Apply(long_run);
BENCHMARK_CAPTURE(poll, srtf, "srtf", Caches::Warm)->Apply(settings);
BENCHMARK_CAPTURE(poll, srtf_with_cold_caches, "srtf", Caches::Cold)->Apply(settings);
BENCHMARK_CAPTURE(poll, choosing, "auto", Caches::Warm)->Apply(settings);
BENCHMARK_CAPTURE(poll, choosing_with_cold_caches, "auto", Caches::Cold)->Apply(settings);

}  // namespace
}  // namespace gpushare::benchmarks
