// SPDX-License-Identifier: Apache-2.0
// What every ordering must do, whichever policy shares the SMs: the promises of a run hold, and everything ends.
#include <gtest/gtest.h>

#include <algorithm>

#include "ordered_run.hpp"
#include "ordering_names.hpp"
#include "sample_workloads.hpp"
#include "trace_promises.hpp"

namespace gpushare {
namespace {

using namespace test;

class EveryOrdering : public testing::TestWithParam<OrderingEntry> {};

TEST_P(EveryOrdering, KeepsEveryPromiseOnRandomWorkloads) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    Device device = random_device(dice);
    if (dice.once_in(2)) device.delays = random_delays(dice);
    const Workload workload = random_workload(dice, device, dice.between(1, 7));
    const std::string window = ":window=" + std::to_string(dice.between(1, 6));
    const std::string options = !GetParam().has_windows() ? "" : window + ":kernels=" + std::to_string(seed % 3 + 1);
    for (const char* policy : {"fifo", "srtf"}) {
      const Trace trace = ordered_run(device, workload, std::string(GetParam().name) + options + "+" + policy);
      expect_every_promise(trace, device, workload);
      EXPECT_EQ(decide_again(trace, device, workload, *make_policy(policy)), trace.decisions);
    }
  }
}

TEST_P(EveryOrdering, FinishesWithoutProfilesAndWithLittleMemory) {
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = random_device(dice);
    Workload workload = random_workload(dice, device, 6);
    for (Application& application : workload.applications) {
      for (Operation& operation : application.operations) {
        if (auto* launch = std::get_if<Launch>(&operation)) launch->kernel.is_profiled = false;
      }
    }
    // Tasks copy up to some 36000 bytes.
    const std::string options = !GetParam().has_windows() ? "" : ":memory_gb=0.00004";
    expect_every_promise(ordered_run(device, workload, std::string(GetParam().name) + options + "+fifo"), device,
                         workload);
  }
}

TEST_P(EveryOrdering, GivesTheSameTraceAgain) {
  Dice dice(7);
  const Device device = random_device(dice);
  const Workload workload = random_workload(dice, device, 6);
  const std::string name = std::string(GetParam().name) + "+fifo";
  EXPECT_EQ(to_bytes(ordered_run(device, workload, name)), to_bytes(ordered_run(device, workload, name)));
}

INSTANTIATE_TEST_SUITE_P(Orderings, EveryOrdering, testing::ValuesIn(orderings().begin(), orderings().end()),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Arrival, IsTheRunWithoutAnOrdering) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Dice dice(seed);
    const Device device = random_device(dice);
    const Workload workload = random_workload(dice, device, 5);
    EXPECT_EQ(to_bytes(ordered_run(device, workload, "arrival+fifo")), to_bytes(record(device, workload, "fifo", 1)));
  }
}

}  // namespace
}  // namespace gpushare
