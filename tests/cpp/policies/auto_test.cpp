// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_written_events.hpp"
#include "policies/two_played_by_hand.hpp"
#include "recorded_run.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::Each;
using testing::ElementsAre;

/// Kernels that issue all the time gain nothing from one another.
Workload alike(std::int64_t first_blocks, std::int64_t second_blocks) {
  return workload_of({{.kernel = issuing_kernel("one"), .blocks = first_blocks},
                      {.kernel = issuing_kernel("other"), .blocks = second_blocks}});
}

Workload unlike() {
  return workload_of({{.kernel = issuing_kernel(), .blocks = 4000}, {.kernel = streaming_kernel(), .blocks = 80'000}});
}

PolicyRehearsal both_there(Workload workload, std::string_view policy = "auto", Device device = mixing_device()) {
  PolicyRehearsal run(policy, std::move(device), std::move(workload));
  run.arrive(0, 0);
  run.arrive(1, 100);
  return run;
}

TEST(Auto, KernelsThatCompeteForOneResourceAreServedShortestFirst) {
  const PolicyRehearsal run = both_there(alike(4000, 1000));
  EXPECT_THAT(run.order(), ElementsAre(1, 0));
  EXPECT_THAT(run.quotas(0), Each(8));
  EXPECT_THAT(run.quotas(1), Each(8));
}

// Taking turns would leave most of the GPU idle while the second one runs.
TEST(Auto, AKernelThatLeavesSlotsIdleRunsBesideOthers) {
  const PolicyRehearsal run = both_there(alike(4000, 32), "auto:small_ns=0");
  const std::vector<int> first = run.quotas(0);
  const std::vector<int> second = run.quotas(1);
  for (std::size_t sm = 0; sm < first.size(); ++sm) EXPECT_LE(first[sm] + second[sm], 8) << sm;
}

TEST(Auto, WholeLaunchesAreServedInOrderOfArrival) {
  Device device = mixing_device();
  device.per_sm.issue_order = IssueOrder::OldestFirst;
  const PolicyRehearsal turns = both_there(alike(2000, 500), "auto", device);
  EXPECT_THAT(turns.order(), ElementsAre(0, 1));
  EXPECT_THAT(turns.quotas(0), Each(8));
  EXPECT_THAT(turns.quotas(1), Each(8));
  // One of them takes longer than that, so that taking turns would fill no last waves.
  const PolicyRehearsal parts = both_there(alike(2000, 500), "auto:whole_up_to_ns=1e6", device);
  EXPECT_THAT(parts.quotas(0), ElementsAre(8, 8, 8, 8, 0, 0, 0, 0));
  EXPECT_THAT(parts.quotas(1), ElementsAre(0, 0, 0, 0, 8, 8, 8, 8));
}

TEST(Auto, KernelsThatWantDifferentThingsAreMixed) {
  const PolicyRehearsal run = both_there(unlike());
  EXPECT_LT(run.quotas(0)[0], 8);
  EXPECT_LT(run.quotas(1)[0], 8);
  EXPECT_GT(run.quotas(0)[0] * run.quotas(1)[0], 0);
}

TEST(Auto, ABegunLaunchGoesOnUnlessTheOtherIsMuchShorter) {
  PolicyRehearsal run("auto", mixing_device(), alike(1000, 800));
  run.arrive(0, 0);
  run.start_block(0, 0, 10);
  run.arrive(1, 100);
  EXPECT_THAT(run.order(), ElementsAre(0, 1));
}

TEST(Auto, AMinSpeedExcludesExclusiveSlices) {
  const PolicyRehearsal run = both_there(alike(4000, 1000), "auto:min_speed=0.3");
  EXPECT_LT(run.quotas(0)[0], 8);
  EXPECT_LT(run.quotas(1)[0], 8);
}

TEST(Auto, AnUrgentLaunchGoesFirstAtOnceAndTheOthersStayBehindIt) {
  Workload workload = unlike();
  workload.applications.push_back(application_of("urgent", {Launch{.kernel = issuing_kernel("short"), .blocks = 64}}));
  workload.applications.back().priority = 1;
  PolicyRehearsal run = both_there(std::move(workload));
  const auto before = run.quotas(0);
  run.arrive(2, 5'000);
  EXPECT_EQ(run.order().front(), 2);
  EXPECT_THAT(run.quotas(2), Each(8));
  EXPECT_EQ(run.quotas(0), before);
  EXPECT_EQ(run.order().size(), 3U);
}

TEST(Auto, AnAnttBoundIsMetBySerialOrderWhereAMixCannot) {
  // 1000 and 4000 blocks in turns: (1 + 1.25) / 2 = 1.125. No mix of two that want the same is below 2 or so.
  Workload workload = alike(4000, 1000);
  std::get<Launch>(workload.applications[1].operations[0]).kernel.cost.issue = Duration(3'000);
  EXPECT_THAT(both_there(workload, "auto:antt=1.3").order(), ElementsAre(1, 0));
  EXPECT_THAT(both_there(workload, "auto:antt=1.3").quotas(0), Each(8));
}

TEST(Auto, IsNeverMuchWorseThanOrderOfArrival) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device();
    Workload workload{.name = "random"};
    for (int i = 0; i < 3; ++i) {
      Launch launch{.kernel = {.name = std::string(1, static_cast<char>('a' + i)),
                               .needs = random_needs(dice, device),
                               .cost = random_cost(dice)},
                    .blocks = dice.between(500, 4000)};
      workload.applications.push_back(application_of(launch.kernel.name, {launch, launch, launch}));
    }
    const auto chosen = static_cast<double>(length_of(record(device, workload, "auto")));
    const auto in_order = static_cast<double>(length_of(record(device, workload, "fifo")));
    EXPECT_LT(chosen, 1.1 * in_order);
  }
}

/// Speeds of both in turns, and in any other way.
TwoPlayedByHand short_launches(std::pair<double, double> in_turns, std::pair<double, double> else_way) {
  return TwoPlayedByHand([=](int sms_of_first) { return sms_of_first == 8 ? in_turns : else_way; },
                         "auto:whole_up_to_ns=1e9");
}

TEST(Auto, SerialOrderIsChosenAgainIfMeasuredFaster) {
  TwoPlayedByHand run = short_launches({0.6, 0.6}, {0.4, 0.4});
  EXPECT_EQ(run.sms_of_first(), 8) << "kernels that want the same are expected to gain nothing side by side";
  bool has_tried = false;
  for (std::int64_t end = 1'000'000; end <= 500'000'000; end += 1'000'000) {
    run.play_until(end);
    has_tried |= run.sms_of_first() != 8;
  }
  EXPECT_TRUE(has_tried);
  EXPECT_EQ(run.sms_of_first(), 8);
}

TEST(Auto, SerialOrderIsAbandonedIfMeasuredSlower) {
  TwoPlayedByHand run = short_launches({0.4, 0.5}, {0.6, 0.6});
  run.play_until(500'000'000);
  EXPECT_NE(run.sms_of_first(), 8);
}

TEST(Auto, WithoutProbesTheForecastHolds) {
  TwoPlayedByHand run([](int) { return std::pair(0.4, 0.4); }, "auto:whole_up_to_ns=1e9:probe_loss=0");
  run.play_until(200'000'000);
  EXPECT_EQ(run.sms_of_first(), 8);
}

}  // namespace
}  // namespace gpushare
