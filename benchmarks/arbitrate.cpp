// SPDX-License-Identifier: Apache-2.0
// What it costs to say how much room each launch may have, which the GPU's scheduler does at every plan and every look.
#include "core/residency/arbitrate.hpp"

#include "scenario.hpp"

namespace gpushare::benchmarks {
namespace {

constexpr int on_hardware = 20;
constexpr int blocks = 10;

/// Small launches that want to be everywhere, of which the first ones have begun, each on SMs of its own.
std::vector<ResidencyRequest> small_launches(const Device& device, int count) {
  const auto sms = static_cast<std::size_t>(device.sms);
  std::vector<ResidencyRequest> launches;
  for (int rank = 0; rank < count; ++rank) {
    ResidencyRequest claim{.block = footprint(device, {.threads = 256}),
                           .wanted = std::vector<int>(sms, 8),
                           .present = std::vector<int>(sms, 0),
                           .unclaimed = rank < on_hardware ? 0 : blocks};
    for (int block = 0; rank < on_hardware && block < blocks; ++block) {
      claim.present[static_cast<std::size_t>(rank * blocks + block) % sms] = 1;
    }
    launches.push_back(std::move(claim));
  }
  return launches;
}

ResidencyRequest large_launch(const Device& device, int present) {
  const auto sms = static_cast<std::size_t>(device.sms);
  return {.block = footprint(device, {.threads = 256}),
          .wanted = std::vector<int>(sms, 8),
          .present = std::vector<int>(sms, present),
          .unclaimed = 100'000};
}

/// Two that fill the GPU: the first one is coming, and the other one has to leave.
void arbitrate_of_large(benchmark::State& timing) {
  const Device device = device_of({});
  const std::vector<ResidencyRequest> launches{large_launch(device, 0), large_launch(device, 8)};
  for (auto _ : timing) benchmark::DoNotOptimize(arbitrate(device, launches));
}
BENCHMARK(arbitrate_of_large)->Unit(benchmark::kMicrosecond);

/// A small one that wants another division of the L1 cache comes before a large one that is everywhere.
void arbitrate_with_another_split(benchmark::State& timing) {
  const Device device = device_of({});
  ResidencyRequest small = large_launch(device, 0);
  small.unclaimed = blocks;
  small.split = Bytes{32 << 10};
  const std::vector<ResidencyRequest> launches{small, large_launch(device, 8)};
  for (auto _ : timing) benchmark::DoNotOptimize(arbitrate(device, launches));
}
BENCHMARK(arbitrate_with_another_split)->Unit(benchmark::kMicrosecond);

/// Small ones, of which every other one has begun, before a large one that is everywhere.
void arbitrate_before_large(benchmark::State& timing) {
  const Device device = device_of({});
  const auto sms = static_cast<std::size_t>(device.sms);
  std::vector<ResidencyRequest> launches;
  for (int rank = 0; rank < timing.range(0); ++rank) {
    launches.push_back({.block = footprint(device, {.threads = 256}),
                        .wanted = std::vector<int>(sms, 8),
                        .present = std::vector<int>(sms, 0),
                        .unclaimed = rank % 2 == 0 ? blocks : 0});
    for (int block = 0; rank % 2 != 0 && block < blocks; ++block) {
      launches.back().present[static_cast<std::size_t>(rank * 41 + block * 17) % sms] = 1;
    }
  }
  launches.push_back(large_launch(device, 8));
  for (std::size_t sm = 0; sm < sms; sm += 2) launches.back().present[sm] = 7;  // as places come and go
  for (auto _ : timing) benchmark::DoNotOptimize(arbitrate(device, launches));
}
BENCHMARK(arbitrate_before_large)->Arg(1)->Arg(10)->Arg(20)->Unit(benchmark::kMicrosecond);

/// A queue of launches must not cost more for each than it has launches: decisions would last milliseconds.
void arbitrate_all(benchmark::State& timing) {
  const Device device = device_of({});
  const std::vector<ResidencyRequest> launches = small_launches(device, static_cast<int>(timing.range(0)));
  for (auto _ : timing) benchmark::DoNotOptimize(arbitrate(device, launches));
  timing.SetItemsProcessed(timing.iterations() * timing.range(0));
}
BENCHMARK(arbitrate_all)->Arg(2)->Arg(10)->Arg(20)->Arg(50)->Arg(100)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gpushare::benchmarks
