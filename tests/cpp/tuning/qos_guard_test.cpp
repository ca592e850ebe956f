// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/qos_guard.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

CoSchedule slots(const std::vector<std::optional<double>>& min_speeds) {
  CoSchedule schedule;
  for (std::size_t i = 0; i < min_speeds.size(); ++i) {
    schedule.slots.push_back({.application = static_cast<ApplicationId>(i), .min_speed = min_speeds[i]});
  }
  return schedule;
}

double min_speed_of(const CoSchedule& schedule, std::size_t slot) { return schedule.slots[slot].contender.min_speed; }

TEST(QosGuard, WithoutPromisesEachKeepsHalfOfAnEqualPart) {
  CoSchedule schedule = slots({std::nullopt, std::nullopt});
  QosGuard::set_min_speeds(schedule, false);
  EXPECT_DOUBLE_EQ(min_speed_of(schedule, 0), 0.25);
  EXPECT_FALSE(QosGuard::has_promises(schedule));
}

TEST(QosGuard, AnEqualPartitionNeedsNoMinSpeedUnderEqualWeights) {
  CoSchedule schedule = slots({std::nullopt, std::nullopt});
  QosGuard::set_min_speeds(schedule, true);
  EXPECT_EQ(min_speed_of(schedule, 0), 0);
  schedule.slots[0].contender.weight = 3;
  QosGuard::set_min_speeds(schedule, true);
  EXPECT_DOUBLE_EQ(min_speed_of(schedule, 0), 0.25);
}

TEST(QosGuard, OthersShareWhatAPromiseLeaves) {
  CoSchedule schedule = slots({0.5, std::nullopt});
  QosGuard::set_min_speeds(schedule, true);
  EXPECT_DOUBLE_EQ(min_speed_of(schedule, 0), 0.5 * 1.03);
  EXPECT_DOUBLE_EQ(min_speed_of(schedule, 1), 0.25 * (1 - 0.5 * 1.03));
  EXPECT_TRUE(QosGuard::has_promises(schedule));
}

TEST(QosGuard, PromisesNeverLeaveLessThanAFifth) {
  CoSchedule schedule = slots({1, std::nullopt});
  QosGuard::set_min_speeds(schedule, true);
  EXPECT_DOUBLE_EQ(min_speed_of(schedule, 1), 0.25 * 0.2);
}

TEST(QosGuard, FindsTheLatencyBoundThatIsBroken) {
  CoSchedule schedule = slots({std::nullopt, std::nullopt});
  schedule.slots[1].alone = 400;
  schedule.slots[1].time_for_work = 800;
  schedule.slots[1].latency_bound = 1000;
  const auto broken = [&](double speed, bool is_measured) {
    return QosGuard::find_broken_latency_bound(schedule, {0.1, speed}, is_measured) != schedule.slots.end();
  };
  EXPECT_FALSE(broken(0.5, false));
  EXPECT_TRUE(broken(0.49, false));
  EXPECT_FALSE(broken(0.4, true)) << "measured speeds include the way to the GPU";
  EXPECT_TRUE(broken(0.39, true));
  EXPECT_EQ(QosGuard::find_broken_latency_bound(schedule, {}, false), schedule.slots.end()) << "no speeds are known";
}

class QosGuardOfOne : public testing::Test {
 protected:
  void launch(double speed) {
    guard_.observe({.time = now_, .kind = EventKind::LaunchArrived});
    now_ += Duration(static_cast<std::int64_t>(400e3 / speed));
    guard_.account({.time = now_, .kind = EventKind::LaunchEnded}, schedule_);
  }
  double asked() const { return guard_.speed_to_ask_for(schedule_.slots[0]); }

  QosGuard guard_;
  CoSchedule schedule_ = [] {
    CoSchedule schedule = slots({0.5});
    schedule.slots[0].as_written = 400e3;
    schedule.slots[0].contender.min_speed = 0.5;
    return schedule;
  }();
  Time now_{};
};

TEST_F(QosGuardOfOne, AsksForMoreAfterAShortfall) {
  EXPECT_DOUBLE_EQ(asked(), 0.5);
  for (int count = 0; count < 5; ++count) launch(0.48);
  EXPECT_NEAR(asked(), 0.5 * 0.5 / 0.48, 1e-6);
  guard_.forget(ApplicationId{0});
  EXPECT_DOUBLE_EQ(asked(), 0.5);
}

TEST_F(QosGuardOfOne, DoesNotAccountForLaunchesWithoutMinSpeed) {
  schedule_.slots[0].min_speed.reset();
  for (int count = 0; count < 5; ++count) launch(0.3);
  EXPECT_DOUBLE_EQ(asked(), 0.5);
}

}  // namespace
}  // namespace gpushare
