// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/headroom/interference_detector.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gpushare {
namespace {

/// Launches of one application that take so long from their arrivals to their ends, one after the other.
class Turnarounds {
 public:
  void add(const std::vector<std::int64_t>& turnarounds) {
    for (const std::int64_t turnaround : turnarounds) {
      interference_.observe({.time = now_, .kind = EventKind::LaunchArrived});
      now_ += Duration(turnaround);
      interference_.observe({.time = now_, .kind = EventKind::LaunchEnded});
    }
  }
  void end() { interference_.observe({.time = now_, .kind = EventKind::ApplicationEnded}); }
  bool need_room() const { return interference_.needs_reserved_sms(ApplicationId{0}); }

 private:
  InterferenceDetector interference_;
  Time now_{};
};

TEST(InterferenceDetector, ReservesAfterTheFirstLaunchesForATrial) {
  Turnarounds run;
  run.add({500, 500, 500});
  EXPECT_FALSE(run.need_room());
  run.add({500});
  EXPECT_TRUE(run.need_room());
  run.add({500, 500, 500, 500, 500, 500, 500});
  EXPECT_TRUE(run.need_room());
  run.add({500});
  EXPECT_FALSE(run.need_room());  // nothing was gained
}

TEST(InterferenceDetector, TriesAgainMuchLaterWhereNothingWasGained) {
  Turnarounds run;
  run.add(std::vector<std::int64_t>(103, 500));
  EXPECT_FALSE(run.need_room());
  run.add({500});
  EXPECT_TRUE(run.need_room());
  run.add(std::vector<std::int64_t>(8, 100));
  EXPECT_TRUE(run.need_room());
}

TEST(InterferenceDetector, DetectsLaunchesMuchLongerThanTheShortest) {
  Turnarounds run;
  run.add({400, 400, 400, 400, 400, 100, 100, 100, 100, 100, 100, 100, 100, 100});
  EXPECT_TRUE(run.need_room());
}

TEST(InterferenceDetector, IgnoresOneLongLaunch) {
  Turnarounds run;
  run.add({9000, 290, 290, 290, 100, 100, 100, 100, 100, 100, 100, 100});
  EXPECT_FALSE(run.need_room());
  run.add({310});
  EXPECT_TRUE(run.need_room());
}

TEST(InterferenceDetector, ForgetsEndedApplications) {
  Turnarounds run;
  run.add({400, 400, 400, 400, 100});
  EXPECT_TRUE(run.need_room());
  run.end();
  EXPECT_FALSE(run.need_room());
}

}  // namespace
}  // namespace gpushare
