// SPDX-License-Identifier: Apache-2.0
#include "core/session/session_status.hpp"

#include <gtest/gtest.h>

#include "interrupted_run.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(SessionStatus, QuotasInShort) {
  EXPECT_EQ(short_form(Quota::everywhere(8)), "8");
  EXPECT_EQ(short_form(Quota::nowhere()), "0");
  EXPECT_EQ(short_form(Quota::per_sm({0, 0})), "0");
  EXPECT_EQ(short_form(Quota::per_sm({8, 8, 2, 0, 1, 1, 1})), "8 on 0-1, 2 on 2, 1 on 4-6");
}

TEST(SessionStatus, FollowsALaunch) {
  InterruptedRun trial(small_device(2), "effisha-static");
  const ApplicationId a = trial.add("a");
  const auto state = [&] { return status_of(trial.run(), trial.now()).applications.at(0); };
  EXPECT_EQ(state().state, "idle");
  trial.submit(a, launch_of(80, 100));
  EXPECT_EQ(state().state, "starting");
  EXPECT_EQ(state().remaining, std::chrono::nanoseconds(1000));  // by its profile
  ASSERT_TRUE(trial.advance(20));
  EXPECT_EQ(state().state, "running");
  const ApplicationId urgent = trial.add("urgent", 1);
  const OperationId second = trial.submit(urgent, launch_of(80, 100));
  EXPECT_EQ(state().state, "leaving");
  EXPECT_EQ(state().quota, "0");
  EXPECT_EQ(state().preemptions, 1);
  ASSERT_TRUE(trial.advance(20));
  EXPECT_EQ(state().state, "waiting");
  trial.run().withdraw(urgent, trial.now());
  EXPECT_EQ(status_of(trial.run(), trial.now()).applications.at(1).state, "cancelled");
  ASSERT_TRUE(trial.advance());
  EXPECT_EQ(trial.run().state().find(second), nullptr);
  EXPECT_EQ(status_of(trial.run(), trial.now()).applications.size(), 1U);
  EXPECT_EQ(state().state, "idle");
  EXPECT_EQ(state().operations, 1);
  EXPECT_EQ(trial.run().tally(a).blocks, 80);
}

/// Everybody may have so many blocks on SM 0, and none on the others.
class SqueezedOntoOneSm : public Policy {
 public:
  Plan decide(const State& state) const override {
    std::vector<int> quota(static_cast<std::size_t>(state.sms()), 0);
    quota.front() = 4;
    Plan plan;
    for (const RunningLaunch& launch : state.running()) {
      plan.shares.push_back({.launch = launch.id, .quota = Quota::per_sm(quota)});
    }
    return plan;
  }
};

TEST(SessionStatus, WhatRemainsOfASqueezedLaunchIsItsTimeAlone) {
  const Device device = small_device(20);
  InterruptedRun trial(device, "fifo");
  const ApplicationId a = trial.add("a");
  trial.submit(a, launch_of(8000, 100));  // 100 waves of 80 blocks
  ASSERT_TRUE(trial.advance(800));
  const auto remaining = [&] { return *status_of(trial.run(), trial.now()).applications.at(0).remaining; };
  EXPECT_NEAR(nanoseconds(remaining()), 9'500, 300);
  SqueezedOntoOneSm squeeze;
  trial.run().hand_over(squeeze, trial.now());
  ASSERT_TRUE(trial.advance(400));
  EXPECT_EQ(status_of(trial.run(), trial.now()).applications.at(0).quota, "4 on 0");
  EXPECT_NEAR(nanoseconds(remaining()), 9'000, 300);  // and not 20 times as much
}

TEST(SessionStatus, TheLastBlocksAreNotSpreadOverSmsThatTheyDoNotFill) {
  InterruptedRun trial(small_device(20), "fifo");
  trial.submit(trial.add("a"), launch_of(84, 100));
  ASSERT_TRUE(trial.advance(80 + 80 + 4));  // a wave, and the starts of the rest
  const Duration remaining = *status_of(trial.run(), trial.now()).applications.at(0).remaining;
  EXPECT_GT(nanoseconds(remaining), 20);
  EXPECT_LT(nanoseconds(remaining), 150);
}

TEST(SessionStatus, SmTimeCountsEverySmWithABlock) {
  InterruptedRun trial(small_device(2), "fifo");
  const ApplicationId a = trial.add("a");
  trial.submit(a, launch_of(8, 100));  // both SMs for a wave
  trial.submit(a, launch_of(1, 100));
  ASSERT_TRUE(trial.advance());
  EXPECT_EQ(trial.run().tally(a).sm_time, std::chrono::nanoseconds(300));
}

TEST(SessionStatus, ACopyIsNoLaunch) {
  InterruptedRun trial(small_device(2), "fifo");
  trial.submit(trial.add("a"), copy_to_device(1000));
  EXPECT_EQ(status_of(trial.run(), trial.now()).applications.at(0).state, "copying");
}

}  // namespace
}  // namespace gpushare
