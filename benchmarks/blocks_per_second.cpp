// SPDX-License-Identifier: Apache-2.0
// The headline: simulated blocks per second on 132 SMs with eight blocks each, for every policy.
#include "scenario.hpp"

namespace gpushare::benchmarks {
namespace {

void fifo_one_application(benchmark::State& timing) { time_runs(timing, "fifo", {}); }
BENCHMARK(fifo_one_application)->Unit(benchmark::kMillisecond);

void srtf_two_applications(benchmark::State& timing) { time_runs(timing, "srtf", {.applications = 2}); }
BENCHMARK(srtf_two_applications)->Unit(benchmark::kMillisecond);

void four_applications(benchmark::State& timing) {
  const PolicyEntry& policy = policies()[static_cast<std::size_t>(timing.range(0))];
  timing.SetLabel(std::string(policy.name));
  time_runs(timing, policy.name, {.applications = 4});
}
BENCHMARK(four_applications)
    ->ArgName("policy")
    ->DenseRange(0, static_cast<int>(policies().size()) - 1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gpushare::benchmarks
