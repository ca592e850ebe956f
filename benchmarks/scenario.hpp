// SPDX-License-Identifier: Apache-2.0
// The runs that are timed here: a GPU the size of an H100, equal kernels whose blocks fit an SM eight at a time, and
// one full run of them through the engine. Figures are round on purpose: this measures the simulator, not a GPU.
#pragma once

#include <benchmark/benchmark.h>

#include <array>
#include <string>

#include "core/engine/engine.hpp"
#include "core/policies/registry.hpp"
#include "core/simulation/simulated_gpu.hpp"
#include "core/trace/metrics.hpp"

namespace gpushare::benchmarks {

enum class OffSmTraffic { None, Saturating };
enum class Dispatch { AtOnce, Staggered };

struct Scenario {
  int sms = 132;
  int applications = 1;
  std::int64_t blocks = 200'000;  ///< of all applications together
  OffSmTraffic traffic = OffSmTraffic::None;
  Dispatch dispatch = Dispatch::AtOnce;
};

inline Device device_of(const Scenario& scenario) {
  using std::chrono::nanoseconds;
  return {.name = "benchmark GPU",
          .sms = scenario.sms,
          .clock_hz = 1.755e9,
          .per_sm = {.threads = 2048, .warps = 64, .blocks = 32, .registers = 65536, .shared_memory = {233'472}},
          .granularity = {.reserved_shared_memory = {1024}},
          .off_sm = {.noc = {5.5e12}, .llc = {5.5e12}, .dram = {2.5e10 * scenario.sms}},
          .to_device = {.latency = nanoseconds(2000), .bandwidth = {5e10}},
          .to_host = {.latency = nanoseconds(2000), .bandwidth = {5e10}},
          .delays = {.launch = nanoseconds(4000),
                     .signal = nanoseconds(1000),
                     .relaunch = nanoseconds(9000),
                     .block_dispatch = nanoseconds(scenario.dispatch == Dispatch::Staggered ? 300 : 0)}};
}

/// Every application is one launch and arrives a little after the one before; block times differ somewhat, so that
/// policies have something to choose from.
inline Application application_of(const Scenario& scenario, int number) {
  using std::chrono::nanoseconds;
  const std::int64_t blocks = scenario.blocks / scenario.applications;
  const nanoseconds latency(10'000 + 1000 * (number % 5));
  const BlockCost cost{.latency = latency,
                       .issue = latency / 20,
                       // Eight times what the DRAM can deliver while every SM is full.
                       .off_sm = {scenario.traffic == OffSmTraffic::Saturating ? 250'000 : 0},
                       .llc_hit_ratio = 0.2,
                       .variation_ratio = 0.1};
  const std::string name = std::to_string(number);
  return {.name = "application " + name,
          .arrival = nanoseconds(20'000) * number,
          .operations = {Launch{
              .kernel = {.name = "kernel " + name, .needs = {.threads = 256, .registers_per_thread = 32}, .cost = cost},
              .blocks = blocks,
              .alone = latency * blocks / (8 * scenario.sms)}}};
}

inline Workload workload_of(const Scenario& scenario) {
  Workload workload{.name = "benchmark"};
  for (int number = 0; number < scenario.applications; ++number) {
    workload.applications.push_back(application_of(scenario, number));
  }
  return workload;
}

/// One benchmark iteration is one run from start to end, measured as users measure it: with a UsageMeter.
inline void time_runs(benchmark::State& timing, std::string_view policy_name, const Scenario& scenario) {
  const Device device = device_of(scenario);
  const Workload workload = workload_of(scenario);
  std::int64_t blocks = 0;
  for (auto _ : timing) {
    SimulatedGpu gpu(device, 1);
    const auto policy = make_policy(policy_name);
    UsageMeter meter(device, workload);
    const std::array<RunObserver*, 1> observers{&meter};
    run(gpu, *policy, workload, observers);
    blocks += meter.blocks();
  }
  timing.SetItemsProcessed(blocks);
}

}  // namespace gpushare::benchmarks
