// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "hand_written_events.hpp"
#include "messages.hpp"
#include "policies/two_played_by_hand.hpp"
#include "recorded_run.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

Launch launch_of_kernel(Kernel kernel, std::int64_t blocks) { return {.kernel = std::move(kernel), .blocks = blocks}; }

/// Launches that take some 300 us each: the first two are of different applications, the third is small.
Workload issuing_and_streaming() {
  return workload_of({launch_of_kernel(issuing_kernel(), 400), launch_of_kernel(streaming_kernel(), 8000),
                      launch_of_kernel(streaming_kernel("small"), 4)});
}

PolicyRehearsal rehearsal(std::string_view policy = "mix") {
  return PolicyRehearsal(policy, mixing_device(), issuing_and_streaming());
}

bool shares_every_sm(const PolicyRehearsal& run, int one, int other) {
  const auto first = run.quotas(one);
  const auto second = run.quotas(other);
  for (std::size_t sm = 0; sm < first.size(); ++sm) {
    if (first[sm] == 0 || second[sm] == 0) return false;
  }
  return true;
}

TEST(Mix, OneAloneHasEverything) {
  PolicyRehearsal run = rehearsal();
  run.arrive(0, 0);
  EXPECT_THAT(run.quotas(0), Each(8));
}

TEST(Mix, TwoThatWantDifferentThingsShareEverySm) {
  PolicyRehearsal run = rehearsal();
  run.arrive(0, 0);
  run.arrive(1, 100);
  EXPECT_TRUE(shares_every_sm(run, 0, 1));
  EXPECT_LE(run.quotas(0)[0] + run.quotas(1)[0], 8);
}

TEST(Mix, ASlotIsReservedForAnExpectedNextLaunch) {
  PolicyRehearsal run = rehearsal("mix:patience_ns=60_000");
  run.arrive(0, 0);
  run.arrive(1, 100);
  const auto shared = run.quotas(1);
  run.end_launch(0, 200'000);
  EXPECT_EQ(run.quotas(1), shared);
  ASSERT_TRUE(run.plan().wake_at);
  EXPECT_EQ(ns(*run.plan().wake_at), 260'000);
}

TEST(Mix, WithoutPatienceTheOthersTakeTheRoomAtOnce) {
  PolicyRehearsal run = rehearsal("mix:patience_ns=0");
  run.arrive(0, 0);
  run.arrive(1, 100);
  run.end_launch(0, 200'000);
  EXPECT_THAT(run.quotas(1), Each(8));
  EXPECT_FALSE(run.plan().wake_at);
}

TEST(Mix, ASmallLaunchGoesFirstAndEvictsNoBlock) {
  PolicyRehearsal run = rehearsal();
  run.arrive(0, 0);
  run.arrive(1, 100);
  const auto before = run.quotas(0);
  run.arrive(2, 50'000);
  EXPECT_EQ(run.order().front(), 2);
  EXPECT_THAT(run.quotas(2), Each(8));
  EXPECT_EQ(run.quotas(0), before);
}

TEST(Mix, ExpandsOnlyOncePatienceIsOver) {
  Workload workload = issuing_and_streaming();
  workload.applications.pop_back();
  workload.applications[0].operations.push_back(copy_to_device(100'000'000));  // 1.8 ms without a launch
  const Trace trace = record(mixing_device(), workload, "mix");
  const std::int64_t ended = end_of(trace, 0);
  ASSERT_GT(ended, 0);
  std::optional<std::int64_t> expanded;
  for (const Decision& decision : trace.decisions) {
    const std::int64_t at = ns(trace.events[decision.after_event].time);
    const auto& shares = decision.plan.shares;
    if (at < ended || shares.size() != 1 || expanded) continue;
    if (shares[0].quota.smallest() == 8) expanded = at;
  }
  ASSERT_TRUE(expanded);
  EXPECT_EQ(*expanded - ended, 60'000);
}

TEST(Mix, BeatsOneAfterTheOther) {
  Workload workload = issuing_and_streaming();
  workload.applications.pop_back();
  for (Application& application : workload.applications) {
    application.operations.resize(6, application.operations.front());
  }
  const auto mixed = length_of(record(mixing_device(), workload, "mix"));
  const auto serial = length_of(record(mixing_device(), workload, "fifo"));
  EXPECT_LT(static_cast<double>(mixed), 0.85 * static_cast<double>(serial));
}

TEST(Mix, UnprofiledKernelsAreMixedInProportionAndTheirCostsNotRead) {
  Workload workload = issuing_and_streaming();
  for (Application& application : workload.applications) {
    std::get<Launch>(application.operations[0]).kernel.is_profiled = false;
  }
  PolicyRehearsal run("mix:probe_loss=0", mixing_device(), std::move(workload));
  run.arrive(0, 0);
  run.arrive(1, 100);
  EXPECT_THAT(run.quotas(0), Each(4));
  EXPECT_THAT(run.quotas(1), Each(4));
}

// Which of them cost what is theirs; what they are called is up to their users.
TEST(Mix, KernelsOfOneNameAreNotTakenForOneAnother) {
  const auto length_if_called = [](const char* one, const char* other) {
    Kernel waits = issuing_kernel(other);
    waits.cost.issue = waits.cost.latency / 100;
    const Workload workload =
        workload_of({launch_of_kernel(issuing_kernel(one), 4000), launch_of_kernel(std::move(waits), 4000)});
    return length_of(record(mixing_device(), workload, "mix"));
  };
  EXPECT_EQ(length_if_called("kernel", "kernel"), length_if_called("issues", "waits"));
}

TEST(Mix, TheNinthApplicationWaitsForASlot) {
  std::vector<Launch> launches(9, launch_of_kernel(issuing_kernel(), 4000));
  PolicyRehearsal run("mix", mixing_device(), workload_of(launches));
  for (int i = 0; i < 9; ++i) run.arrive(i, i);
  EXPECT_EQ(run.order().back(), 8);
  EXPECT_THAT(run.quotas(8), Each(8));
  for (int i = 0; i < 8; ++i) EXPECT_THAT(run.quotas(i), testing::Contains(testing::Gt(0))) << i;
}

TEST(Mix, TheCautiousBeginWithEqualParts) {
  PolicyRehearsal run("mix", cautious_device(), issuing_and_streaming());
  run.arrive(0, 0);
  run.arrive(1, 100);
  EXPECT_THAT(run.quotas(0), ElementsAre(8, 8, 8, 8, 0, 0, 0, 0));
  EXPECT_THAT(run.quotas(1), ElementsAre(0, 0, 0, 0, 8, 8, 8, 8));
}

TEST(Mix, TheCautiousTakeWhatPromisesClearlyMoreOnceTheyHaveFoundIt) {
  // Two blocks of the first fill the issue slots of an SM, and the second needs next to none.
  Kernel issues = issuing_kernel();
  issues.cost.issue = issues.cost.latency / 2;
  Kernel waits = issuing_kernel("waits");
  waits.cost.issue = waits.cost.latency / 100;
  Workload workload = workload_of({launch_of_kernel(issues, 400), launch_of_kernel(waits, 1600)});
  for (Application& application : workload.applications) {
    application.operations.resize(30, application.operations.front());
  }
  const Trace trace = record(cautious_device(), workload, "mix");
  std::vector<std::int64_t> shared;
  for (const Decision& decision : trace.decisions) {
    const auto& shares = decision.plan.shares;
    const bool is_shared = shares.size() == 2 && shares[0].quota.smallest() > 0 && shares[1].quota.smallest() > 0;
    if (is_shared) shared.push_back(ns(trace.events[decision.after_event].time));
  }
  ASSERT_FALSE(shared.empty());
  EXPECT_GT(shared.front(), 100'000);
  EXPECT_LT(length_of(trace), length_of(record(cautious_device(), workload, "even")));
}

/// What a probe of other parts shows counts as the search does: nobody asked for a min_speed.
TEST(Mix, TheCautiousKeepEqualPartsThatAreSlowForOneOfThem) {
  TwoPlayedByHand run([](int sms) { return sms > 4 ? std::pair(0.15, 0.3) : std::pair(0.1, 0.5); });
  run.play_until(2'000'000'000);
  EXPECT_EQ(run.sms_of_first(), 4);
}

TEST(Mix, TheCautiousGoOnToPartsThatAreMeasuredToDoMore) {
  TwoPlayedByHand run([](int sms) { return sms > 4 ? std::pair(0.6, 0.5) : std::pair(0.3, 0.5); });
  run.play_until(2'000'000'000);
  EXPECT_GT(run.sms_of_first(), 4);
}

/// How much longer the first launch takes than with an even split.
double against_even(const Device& device, const Workload& workload) {
  const auto end_under = [&](const char* policy) {
    return static_cast<double>(end_of(record(device, workload, policy), 0));
  };
  return end_under("mix") / end_under("even");
}

/// It has to be alone for a while to be measured, and its blocks say nothing: none is left to start when they end.
TEST(Mix, NoApplicationStarvesBesideAnUnprofiledKernelOfOneWave) {
  Workload workload = workload_of({launch_of_kernel(issuing_kernel(), 4000), launch_of_kernel(streaming_kernel(), 64)});
  Application& other = workload.applications[1];
  std::get<Launch>(other.operations[0]).kernel.is_profiled = false;
  other.operations.resize(4000, other.operations.front());
  EXPECT_LT(against_even(mixing_device(), workload), 1.8);
  EXPECT_LT(against_even(cautious_device(), workload), 1.8);
}

TEST(Mix, AnApplicationOfLowWeightIsNotStarved) {
  Workload workload = workload_of({launch_of_kernel(issuing_kernel("light"), 4000)});
  workload.applications.push_back({.name = "heavy", .weight = 2});
  workload.applications.back().operations.resize(20, launch_of_kernel(issuing_kernel("heavy"), 4000));
  EXPECT_LT(against_even(mixing_device(), workload), 2.5);
  EXPECT_LT(against_even(cautious_device(), workload), 2.5);
}

TEST(Mix, OptionsOutOfRangeAreNamed) {
  const auto message = [](const char* policy) { return message_of<InvalidInput>([&] { make_policy(policy); }); };
  EXPECT_THAT(message("mix:min_speed=1.5"), naming("min_speed", "0..1", "1.5"));
  EXPECT_THAT(message("mix:patience_ns=-1"), naming("patience_ns", -1));
  EXPECT_THAT(message("mix:flor=0.5"), naming("flor"));
}

}  // namespace
}  // namespace gpushare
