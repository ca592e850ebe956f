// SPDX-License-Identifier: Apache-2.0
// What the simulated GPU makes of quotas and ranks (plan.hpp has the contract).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

/// The running launches in order of arrival, launch n with quota n of these.
std::function<Plan(const State&)> always(std::vector<Quota> quotas) {
  return [quotas = std::move(quotas)](const State& state) {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) plan.shares.push_back({launch.id, quotas[index(launch.id)]});
    return plan;
  };
}

TEST(Quotas, ALimitedLaunchLeavesItsRoomToLowerRanks) {
  const auto plan = always({Quota::everywhere(1), Quota::everywhere(4)});
  const Trace trace = record(small_device(), workload_of({launch_of(3, 100), launch_of(3, 100)}), plan);
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 100, 200));
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(0, 0, 0));
}

TEST(Quotas, ARankedLaunchAtItsFullQuotaHoldsTheRoom) {
  // The first needs 192 of 256 threads, so 64 are left over, which a block of the second would fit; but they are held
  // until the last block of the first has started.
  const auto plan = always({Quota::everywhere(1), Quota::everywhere(4)});
  const Trace trace = record(small_device(), workload_of({launch_of_threads(192, 3, 100), launch_of(1, 100)}), plan);
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 100, 200));
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(200));
}

TEST(Quotas, ARankedLaunchThatLeavesTheRestHoldsNoMoreThanItsQuota) {
  // As above, but the full quota is meant as a limit: the 64 threads beside the first are the second's at once.
  const Trace trace =
      record(small_device(), workload_of({launch_of_threads(192, 3, 100), launch_of(3, 50)}), [](const State& state) {
        Plan plan;
        for (const RunningLaunch& launch : state.running()) {
          plan.shares.push_back(full_share(launch));
          plan.shares.back().leaves_rest = true;
        }
        return plan;
      });
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 100, 200));
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(0, 50, 100));
}

TEST(Quotas, ALaunchThatLeavesTheRestHoldsTheRoomUpToItsQuota) {
  // Two blocks of the second run when the first comes, which needs the room of both and must get it.
  const Trace trace = record(small_device(), workload_of({launch_of_threads(192, 2, 100), launch_of(8, 60)}, {10, 0}),
                             [](const State& state) {
                               Plan plan;
                               for (const int launch : {0, 1}) {
                                 const RunningLaunch* running = state.find(operation(launch));
                                 if (running == nullptr) continue;
                                 plan.shares.push_back(full_share(*running));
                                 plan.shares.back().leaves_rest = true;
                               }
                               return plan;
                             });
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(60, 160));
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(0, 0, 0, 0, 60, 120, 180, 240));
}

TEST(Quotas, ALimitedLaunchBelowItsQuotaHoldsTheRoomItWaitsFor) {
  // Four blocks of the first run; then the second, limited to one of two blocks of 128 threads, is ranked first. It
  // needs two slots to come free, and the first must not take them again.
  const Workload workload = workload_of({launch_of(8, 100), launch_of_threads(128, 1, 10)}, {0, 50});
  const Trace trace = record(small_device(), workload, [](const State& state) {
    if (state.running().size() == 1) return Plan{.shares = {full_share(state.running().front())}};
    return Plan{.shares = {{operation(1), Quota::everywhere(1)}, {operation(0), Quota::everywhere(4)}}};
  });
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(100));
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 0, 100, 100, 110, 110));
}

TEST(Quotas, PerSmQuotasHoldPerSm) {
  const auto plan = always({Quota::per_sm({1, 0, 3})});
  const Trace trace = record(small_device(3), workload_of({launch_of(5, 100)}), plan);
  EXPECT_THAT(block_sms(trace, 0), ElementsAre(0, 2, 2, 2, 0));
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 0, 100));
}

TEST(Quotas, TwoLaunchesShareAnSmSideBySide) {
  const auto plan = always({Quota::everywhere(2), Quota::everywhere(2)});
  const Trace trace = record(small_device(), workload_of({launch_of(4, 100), launch_of(4, 50)}), plan);
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 100, 100));
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(0, 0, 50, 50));
}

/// Everything until 50, nothing from then to `resume`, everything again.
std::function<Plan(const State&)> evict_at_50_and_resume_at(std::int64_t resume) {
  return [resume](const State& state) {
    if (state.now() < at(50)) return Plan{.shares = {full_share(state.running().front())}, .wake_at = at(50)};
    if (state.now() < at(resume)) return Plan{.wake_at = at(resume)};
    return Plan{.shares = {full_share(state.running().front())}};
  };
}

TEST(Quotas, NoQuotaDrainsAtBlockBoundary) {
  const Trace trace = record(small_device(), workload_of({launch_of(6, 100)}), evict_at_50_and_resume_at(300));
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 0, 300, 300));
}

TEST(Quotas, AnEvictedLaunchTakesTimeToComeBack) {
  Device device = small_device();
  device.delays.relaunch = Duration(30);
  const Trace trace = record(device, workload_of({launch_of(6, 100)}), evict_at_50_and_resume_at(300));
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 0, 330, 330));
}

TEST(Quotas, ALaunchThatHasNotDrainedYetNeedsNoRelaunch) {
  Device device = small_device();
  device.delays.relaunch = Duration(30);
  const Trace trace = record(device, workload_of({launch_of(6, 100)}), evict_at_50_and_resume_at(80));
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 0, 100, 100));
}

TEST(Quotas, AFirstStartIsNoRelaunch) {
  Device device = small_device();
  device.delays.relaunch = Duration(30);
  const Trace trace = record(device, workload_of({launch_of(1, 100)}), [](const State& state) {
    if (state.now() < at(50)) return Plan{.wake_at = at(50)};
    return Plan{.shares = {full_share(state.running().front())}};
  });
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(50));
}

TEST(Quotas, AShrunkQuotaCutsNoBlockShort) {
  const Trace trace = record(small_device(), workload_of({launch_of(6, 100)}), [](const State& state) {
    if (state.now() < at(50)) return Plan{.shares = {full_share(state.running().front())}, .wake_at = at(50)};
    return Plan{.shares = {{operation(0), Quota::everywhere(1)}}};
  });
  EXPECT_THAT(block_times(trace, 0), testing::Each(100));
  EXPECT_THAT(block_starts(trace, 0), ElementsAre(0, 0, 0, 0, 100, 200));
}

// 88 x 32 registers: 23 warps fit the register file by count, but in fours only 20, which is R.
TEST(Quotas, NoMoreThanTheMaximumResidencyIsResidentWhateverTheRegisterFileSeemsToHold) {
  Launch odd = launch_of_threads(32, 30, 100);
  odd.kernel.needs.registers_per_thread = 88;
  Device device = h100_like();
  device.sms = 1;
  const Trace trace = record(device, workload_of({odd}), "fifo");
  EXPECT_EQ(std::ranges::count(block_starts(trace, 0), 0), 20);
}

}  // namespace
}  // namespace gpushare
