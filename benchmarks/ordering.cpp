// SPDX-License-Identifier: Apache-2.0
// How long it takes to order a window, over 1000 random windows with the spread of CuMAS's Table 1: copies to the
// device of 19 to 2139 MB and to the host of 1 to 1073 MB at 5 GB/s (Fig. 11), the rest of 0.5 to 2 s in kernels
// (section 6), all log-uniform. Half of the windows find engines in use. One iteration is all windows; the counters are
// percentiles over the windows in microseconds, and by how much the order is worse than the best.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <string>

#include "core/ordering/ordering_registry.hpp"

namespace gpushare::benchmarks {
namespace {

constexpr int windows = 1000;
constexpr double ns_per_mb = 0.2e6;

/// The same numbers with every standard library, whose distributions differ.
class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  double ratio() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  double log_uniform(double least, double most) { return least * std::pow(most / least, ratio()); }

 private:
  std::mt19937_64 bits_;
};

Duration duration(double ns) { return Duration(static_cast<Duration::rep>(ns)); }

Task task_of_table_1(Random& random) {
  const double uplink = random.log_uniform(19, 2139) * ns_per_mb;
  const double downlink = random.log_uniform(1, 1073) * ns_per_mb;
  const double total = random.log_uniform(0.5e9, 2e9);
  return {duration(uplink), duration(std::max(total - uplink - downlink, 1e6)), duration(downlink)};
}

struct Window {
  Window(std::uint64_t seed, int size) {
    Random random(seed);
    for (int i = 0; i < size; ++i) tasks.push_back(task_of_table_1(random));
    if (seed % 2 == 0) return;
    engines.compute = duration(random.ratio() * 1e9);
    engines.downlink = engines.compute + duration(random.ratio() * 2e8);
  }
  OrderingProblem problem() const { return {.tasks = tasks, .engines = engines}; }

  std::vector<Task> tasks;
  EnginesState engines;
};

double percentile(std::vector<double> values, double ratio) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(ratio * static_cast<double>(values.size() - 1))];
}

/// By how much of the best cost each window's order is worse.
void count_distances(benchmark::State& timing, const std::vector<double>& distances) {
  double sum = 0;
  for (const double distance : distances) sum += distance;
  timing.counters["worse_mean"] = sum / static_cast<double>(distances.size());
  timing.counters["worse_most"] = percentile(distances, 1);
}

void order_windows(benchmark::State& timing, const std::string& name) {
  const auto solver = make_solver(name);
  const auto exact = make_solver("cumas");
  std::vector<double> times_us;
  std::vector<double> distances;
  double proven = 0;
  double total_us = 0;
  for (auto _ : timing) {
    for (std::uint64_t seed = 0; seed < windows; ++seed) {
      const Window window(seed, static_cast<int>(timing.range(0)));
      const auto start = std::chrono::steady_clock::now();
      const OrderedTasks answer = solver->order(window.problem(), {});
      const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
      times_us.push_back(time.count());
      total_us += time.count();
      proven += answer.is_proven_best() ? 1 : 0;
      const double best = name == "cumas" ? answer.lower_bound_ns : exact->order(window.problem(), {}).cost_ns;
      distances.push_back(answer.cost_ns / best - 1);
    }
    timing.SetIterationTime(total_us * 1e-6);
  }
  timing.counters["p50_us"] = percentile(times_us, 0.5);
  timing.counters["p95_us"] = percentile(times_us, 0.95);
  timing.counters["most_us"] = percentile(times_us, 1);
  timing.counters["proven"] = proven / static_cast<double>(times_us.size());
  count_distances(timing, distances);
}

BENCHMARK_CAPTURE(order_windows, exact, "cumas")->Arg(8)->Arg(12)->Arg(20)->Iterations(1)->UseManualTime();
BENCHMARK_CAPTURE(order_windows, dp, "cumas-dp")->Arg(8)->Arg(12)->Iterations(1)->UseManualTime();
BENCHMARK_CAPTURE(order_windows, dp_as_printed, "cumas-dp-as-printed")->Arg(8)->Iterations(1)->UseManualTime();
BENCHMARK_CAPTURE(order_windows, brute_force, "cumas-bf")->Arg(8)->Iterations(1)->UseManualTime();
BENCHMARK_CAPTURE(order_windows, arrival, "strings")->Arg(8)->Arg(12)->Arg(20)->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace gpushare::benchmarks
