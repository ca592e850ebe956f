// SPDX-License-Identifier: Apache-2.0
// Launches that wait in hardware behind the one before them in their application.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"
#include "trace_promises.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::Each;
using testing::ElementsAre;

/// A launch begins 40 after its arrival, or 15 after the last block of the one it follows; ends are known after 10.
Device following_device(std::int64_t signal = 0, int sms = 1) {
  Device device = small_device(sms);
  device.delays = {
      .launch = Duration(40), .signal = Duration(signal), .completion = Duration(10), .follow = Duration(15)};
  return device;
}

Workload in_a_row(std::vector<Operation> operations) {
  return {.name = "row", .applications = {application_of("a", std::move(operations))}};
}

std::int64_t first_start(const Trace& trace, int launch) { return block_starts(trace, launch).at(0); }

TEST(Successors, BeginSoonAfterTheLastBlockOfTheOneBefore) {
  const Trace trace = record(following_device(), in_a_row({launch_of(8, 100), launch_of(2, 100)}), "fifo");
  EXPECT_EQ(end_of(trace, 0), 250);
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(255, 255));
  EXPECT_EQ(end_of(trace, 1), 365);
}

TEST(Successors, AreNoneWhereTheDeviceHasNone) {
  Device device = following_device();
  device.delays.follow = Duration{};
  const Trace trace = record(device, in_a_row({launch_of(8, 100), launch_of(2, 100)}), "fifo");
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(290, 290));
}

TEST(Successors, ACopyInBetweenIsWaitedFor) {
  const Workload workload = in_a_row({launch_of(8, 100), copy_to_host(30), launch_of(1, 100)});
  const Trace trace = record(following_device(), workload, "fifo");
  EXPECT_EQ(end_of(trace, 1), 280);
  EXPECT_THAT(block_starts(trace, 2), ElementsAre(320));
}

TEST(Successors, ALaunchThatTheHostHasNotComeToYetDoesNotWaitInHardware) {
  Launch late = launch_of(1, 100);
  late.pace.after = Duration(3);
  const Trace trace = record(following_device(), in_a_row({launch_of(8, 100), late}), "fifo");
  EXPECT_THAT(block_starts(trace, 1), ElementsAre(250 + 3 + 40));
}

TEST(Successors, TheHostHasToSeeABlockEndAndThenToSayIt) {
  // Both have one block's time to be seen: of two waves, and of one.
  const Trace two_waves = record(following_device(100), in_a_row({launch_of(8, 100), launch_of(1, 100)}), "fifo");
  EXPECT_EQ(first_start(two_waves, 1) - end_of(two_waves, 0), 5);
  const Trace one_wave = record(following_device(100), in_a_row({launch_of(4, 100), launch_of(1, 100)}), "fifo");
  EXPECT_EQ(first_start(one_wave, 1) - end_of(one_wave, 0), 100);  // a plan takes longer than the launch
}

TEST(Successors, NoLaunchFollowsOneWhoseQuotasChanged) {
  const auto moved_at_100 = [](const State& state) {
    const OperationId launch = state.running().front().id;
    if (launch == operation(0) && state.now() < at(100)) {
      return Plan{.shares = {{launch, Quota::everywhere(4)}}, .wake_at = at(100)};
    }
    return Plan{.shares = {{launch, Quota::everywhere(3)}}};
  };
  const Trace trace = record(following_device(), in_a_row({launch_of(8, 100), launch_of(1, 100)}), moved_at_100);
  EXPECT_EQ(first_start(trace, 1) - end_of(trace, 0), 40);
}

TEST(Successors, NoLaunchFollowsWhileOneHasNoShare) {
  Workload workload = in_a_row({launch_of(8, 100), launch_of(1, 100)});
  workload.applications.push_back(application_of("b", {launch_of(1, 100)}));
  const auto first_only = [](const State& state) { return Plan{.shares = {full_share(state.running().front())}}; };
  const Trace alone = record(following_device(), workload, first_only);
  EXPECT_EQ(first_start(alone, 1) - end_of(alone, 0), 110);  // behind the one of the other application
  const Trace all = record(following_device(), workload, "fifo");
  EXPECT_EQ(first_start(all, 1) - end_of(all, 0), 5);
}

TEST(Successors, HaveThePlaceOfTheOneBeforeUntilAPlanReachesThem) {
  const auto two_then_four = [](const State& state) {
    const OperationId launch = state.running().front().id;
    return Plan{.shares = {{launch, Quota::everywhere(launch == operation(0) ? 2 : 4)}}};
  };
  const Trace trace = record(following_device(20), in_a_row({launch_of(8, 100), launch_of(8, 100)}), two_then_four);
  const std::int64_t last_block = end_of(trace, 0) - 10;
  const std::vector<std::int64_t> starts = block_starts(trace, 1);
  EXPECT_THAT(std::vector(starts.begin(), starts.begin() + 4),
              ElementsAre(last_block + 15, last_block + 15, last_block + 30, last_block + 30));
}

TEST(Successors, AKernelWithFewerBlocksPerSmTakesNoMoreThanItsOwn) {
  const Workload workload = in_a_row({launch_of(8, 100), launch_of_threads(128, 4, 100), launch_of(4, 100)});
  const Trace trace = record(following_device(20), workload, "fifo");
  expect_no_overcommitment(trace, following_device(20), workload);
  // That the first had four and it has two is no change: it is followed as well.
  EXPECT_EQ(first_start(trace, 2) - end_of(trace, 1), 5);
}

TEST(Successors, AnotherLaunchThanTheOneAnnouncedTakesItsUsualTime) {
  const Workload workload = in_a_row({launch_of(8, 100), launch_of(1, 100), launch_of(1, 100)});
  const auto submission = [&](int place) {
    return Submission{.id = operation(place),
                      .operation = &workload.applications[0].operations[index(operation(place))]};
  };
  SimulatedGpu gpu(following_device(), 1);
  gpu.submit(submission(0));
  gpu.announce(submission(1));
  gpu.apply({.shares = {{operation(0), Quota::everywhere(4)}}});
  std::optional<Event> event;
  do event = gpu.next_event(std::nullopt);
  while (event->kind != EventKind::LaunchEnded);
  gpu.submit(submission(2));
  gpu.apply({.shares = {{operation(2), Quota::everywhere(4)}}});
  EXPECT_EQ(ns(gpu.next_event(std::nullopt)->time), 290);
}

/// Between the end of a launch and the arrival of the next, no time passes: nobody gets the room for nothing.
TEST(Successors, OfTwoPlansAtOneInstantTheSecondHolds) {
  Workload workload = in_a_row({launch_of(8, 100), launch_of(8, 100), launch_of(8, 100)});
  workload.applications.push_back(application_of("b", {launch_of(60, 90)}));
  const Trace trace = record(following_device(20, 2), workload, "even");
  const std::vector<int> sms = block_sms(trace, 3);
  const auto until_then =
      std::ranges::count_if(block_starts(trace, 3), [&](std::int64_t start) { return start <= end_of(trace, 2); });
  ASSERT_GT(until_then, 20);
  EXPECT_THAT(std::vector(sms.begin(), sms.begin() + until_then), Each(1));
}

TEST(Successors, KeepTheOtherPromisesUnderEveryPolicy) {
  for (const PolicyEntry& policy : policies()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(std::string(policy.name) + " " + std::to_string(seed));
      Dice dice(seed);
      Device device = random_device(dice);
      device.delays = random_delays(dice);
      device.delays.completion = Duration(dice.between(0, 200));
      device.delays.follow = device.delays.completion + Duration(dice.between(0, 200));
      const Workload workload = random_workload(dice, device, dice.between(1, 5));
      const Trace trace = record(device, workload, policy.name, seed);
      expect_time_moves_forward(trace);
      expect_every_block_once(trace, workload);
      expect_streams_in_order(trace, workload);
      expect_no_overcommitment(trace, device, workload);
      EXPECT_EQ(decide_again(trace, device, workload, *make_policy(policy.name)), trace.decisions);
      EXPECT_EQ(to_bytes(trace), to_bytes(record(device, workload, policy.name, seed)));
    }
  }
}

}  // namespace
}  // namespace gpushare
