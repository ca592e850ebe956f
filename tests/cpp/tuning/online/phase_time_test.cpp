// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/phase_time.hpp"

#include <gtest/gtest.h>

#include "sample_devices.hpp"

namespace gpushare {
namespace {

TEST(PhaseTime, InterruptedPhaseCountsFromItsBeginningUpToTheLongestPart) {
  PhaseTime phase;
  phase.begin(test::at(100));
  EXPECT_EQ(phase.lasted(test::at(150)), Duration(50));
  phase.begin_again(test::at(150), Duration(70));
  phase.begin_again(test::at(1150), Duration(70));  // the application was away in between
  EXPECT_EQ(phase.began(), test::at(1150));
  EXPECT_EQ(phase.lasted(test::at(1160)), Duration(50 + 70 + 10));
  phase.begin(test::at(1200));
  EXPECT_EQ(phase.lasted(test::at(1210)), Duration(10));
}

TEST(PhaseTime, TimeBeforeARestartIsForgotten) {
  PhaseTime phase;
  phase.begin(test::at(100));
  phase.restart(test::at(180));
  EXPECT_EQ(phase.lasted(test::at(200)), Duration(20));
}

TEST(PhaseTime, InterruptionsOutliveThePhaseUntilTheyAreForgotten) {
  PhaseTime phase;
  EXPECT_EQ(phase.interrupt(), 1);
  phase.begin(test::at(5));
  EXPECT_EQ(phase.interrupt(), 2);
  phase.forget_interruptions();
  EXPECT_EQ(phase.interrupt(), 1);
}

}  // namespace
}  // namespace gpushare
