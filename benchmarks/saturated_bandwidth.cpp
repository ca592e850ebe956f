// SPDX-License-Identifier: Apache-2.0
// The simulator's hard case: the bandwidth beyond the SMs is full, so that one more or one less resident block
// anywhere changes the speed of all others. That happens at the end of a launch, while launches share SMs, and, with
// staggered dispatch, whenever an SM has to wait before it may start its next block.
#include "scenario.hpp"

namespace gpushare::benchmarks {
namespace {

void saturated_over_sms(benchmark::State& timing) {
  time_runs(timing, "fifo", {.sms = static_cast<int>(timing.range(0)), .traffic = OffSmTraffic::Saturating});
}
BENCHMARK(saturated_over_sms)->ArgName("sms")->Arg(15)->Arg(66)->Arg(132)->Arg(264)->Unit(benchmark::kMillisecond);

void saturated_over_applications(benchmark::State& timing) {
  time_runs(timing, "srtf", {.applications = static_cast<int>(timing.range(0)), .traffic = OffSmTraffic::Saturating});
}
BENCHMARK(saturated_over_applications)
    ->ArgName("applications")
    ->RangeMultiplier(2)
    ->Range(1, 16)
    ->Unit(benchmark::kMillisecond);

void saturated_over_blocks(benchmark::State& timing) {
  time_runs(timing, "fifo", {.blocks = timing.range(0), .traffic = OffSmTraffic::Saturating});
}
BENCHMARK(saturated_over_blocks)
    ->ArgName("blocks")
    ->RangeMultiplier(10)
    ->Range(10'000, 10'000'000)
    ->Unit(benchmark::kMillisecond);

void saturated_and_staggered(benchmark::State& timing) {
  time_runs(
      timing, "fifo",
      {.sms = static_cast<int>(timing.range(0)), .traffic = OffSmTraffic::Saturating, .dispatch = Dispatch::Staggered});
}
BENCHMARK(saturated_and_staggered)->ArgName("sms")->Arg(15)->Arg(66)->Arg(132)->Arg(264)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gpushare::benchmarks
