// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/slowdown_deficit.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

constexpr ApplicationId asking{3};
constexpr double min_speed = 0.5;

/// Launches of an application that take 0.4 ms alone, one after the other.
class SlowdownDeficitOfOne : public testing::Test {
 protected:
  void launches(int count, double speed) {
    for (; count > 0; --count) {
      deficit_.observe({.time = now_, .application = asking, .kind = EventKind::LaunchArrived});
      now_ += Duration(static_cast<std::int64_t>(400e3 / speed));
      deficit_.add({.time = now_, .application = asking, .kind = EventKind::LaunchEnded}, 400e3, min_speed);
    }
  }
  double factor() const { return deficit_.factor(asking); }

  SlowdownDeficit deficit_;
  Time now_{};
};

TEST_F(SlowdownDeficitOfOne, KeptMinSpeedLeavesTheFactorAtOne) {
  launches(20, 0.52);
  EXPECT_EQ(factor(), 1);
}

TEST_F(SlowdownDeficitOfOne, ASmallShortfallIsMadeUpFor) {
  launches(5, 0.48);
  EXPECT_NEAR(factor(), min_speed / 0.48, 1e-6);
}

TEST_F(SlowdownDeficitOfOne, AFewLaunchesChangeNothing) {
  launches(1, 0.25);
  EXPECT_EQ(factor(), 1);
}

TEST_F(SlowdownDeficitOfOne, ALargeShortfallRaisesTheFactorStepByStep) {
  launches(3, 0.25);
  EXPECT_NEAR(factor(), 1.1, 1e-9);
  launches(100, 0.25);
  EXPECT_NEAR(factor(), 1 / min_speed, 1e-9) << "all there is";
}

TEST_F(SlowdownDeficitOfOne, ASurplusReducesTheFactor) {
  launches(2, 0.25);
  launches(10, 0.6);
  EXPECT_LT(factor(), 1.1);
  launches(100, 0.6);
  EXPECT_EQ(factor(), 1);
}

TEST_F(SlowdownDeficitOfOne, LaunchesBeforeARestartDoNotCount) {
  launches(1, 0.25);
  deficit_.restart(now_ + Duration(1));
  launches(1, 0.25);  // has come before
  EXPECT_EQ(factor(), 1);
  launches(2, 0.8);
  EXPECT_EQ(factor(), 1);
}

TEST_F(SlowdownDeficitOfOne, AnEndedApplicationIsForgotten) {
  launches(3, 0.25);
  deficit_.forget(asking);
  EXPECT_EQ(factor(), 1);
}

}  // namespace
}  // namespace gpushare
