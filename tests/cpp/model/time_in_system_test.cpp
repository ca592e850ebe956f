// SPDX-License-Identifier: Apache-2.0
#include "core/model/time_in_system.hpp"

#include <gtest/gtest.h>

#include "core/model/units.hpp"

namespace gpushare::test {
namespace {

Time at(std::int64_t nanoseconds) { return Time(Duration(nanoseconds)); }

TEST(TimeInSystem, OverlappingJobsCountOnceAndPausesNotAtAll) {
  TimeInSystem<Time, Duration> time;
  time.submitted(at(10));
  time.submitted(at(15));
  time.ended(at(40));
  EXPECT_EQ(time.unfinished(), 1u);
  time.ended(at(60));
  time.submitted(at(1000));
  time.ended(at(1005));
  EXPECT_EQ(time.total(), Duration(55));
  EXPECT_EQ(time.unfinished(), 0u);
}

TEST(TimeInSystem, ARefusedJobTakesNoTime) {
  TimeInSystem<Time, Duration> time;
  time.submitted(at(10));
  time.refused();
  EXPECT_EQ(time.total(), Duration(0));
  time.submitted(at(100));
  time.ended(at(107));
  EXPECT_EQ(time.total(), Duration(7));
}

}  // namespace
}  // namespace gpushare::test
