// SPDX-License-Identifier: Apache-2.0
// How the simulator's speed depends on the number of SMs, applications and blocks.
#include "scenario.hpp"

namespace gpushare::benchmarks {
namespace {

void fifo_over_sms(benchmark::State& timing) { time_runs(timing, "fifo", {.sms = static_cast<int>(timing.range(0))}); }
BENCHMARK(fifo_over_sms)->ArgName("sms")->Arg(15)->Arg(66)->Arg(132)->Arg(264)->Unit(benchmark::kMillisecond);

void srtf_over_applications(benchmark::State& timing) {
  time_runs(timing, "srtf", {.applications = static_cast<int>(timing.range(0))});
}
BENCHMARK(srtf_over_applications)
    ->ArgName("applications")
    ->RangeMultiplier(2)
    ->Range(1, 16)
    ->Unit(benchmark::kMillisecond);

void fifo_over_blocks(benchmark::State& timing) { time_runs(timing, "fifo", {.blocks = timing.range(0)}); }
BENCHMARK(fifo_over_blocks)
    ->ArgName("blocks")
    ->RangeMultiplier(10)
    ->Range(10'000, 10'000'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gpushare::benchmarks
