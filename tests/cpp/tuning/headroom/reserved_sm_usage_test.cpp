// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/headroom/reserved_sm_usage.hpp"

#include <gtest/gtest.h>

#include "sample_workloads.hpp"

namespace gpushare {
namespace {

class ReservedSmUsageOfThree : public testing::Test {
 protected:
  /// Of three blocks, four of which fill an SM.
  RunningLaunch launch(int number, int priority = 1) const {
    return {.id = static_cast<OperationId>(number), .launch = &three, .priority = priority, .max_residency = 4};
  }
  static Time at(std::int64_t nanoseconds) { return Time(Duration(nanoseconds)); }

  Launch three = test::launch_of(3, 1000);
  ReservedSmUsage usage;
};

TEST_F(ReservedSmUsageOfThree, CountsSmsUntilLaunchesAreRemoved) {
  for (int number = 0; number < 3; ++number) usage.add(launch(number), number > 0);
  EXPECT_DOUBLE_EQ(usage.sms(), 2.25);
  EXPECT_EQ(usage.admitted(), 2);
  EXPECT_FALSE(usage.remove(OperationId{0}, at(10)));
  EXPECT_TRUE(usage.remove(OperationId{1}, at(10)));
  EXPECT_DOUBLE_EQ(usage.sms(), 0.75);
  EXPECT_EQ(usage.admitted(), 1);
  EXPECT_FALSE(usage.remove(OperationId{1}, at(20)));
}

TEST_F(ReservedSmUsageOfThree, AnAdmittedLaunchStaysAdmitted) {
  usage.add(launch(0), true);
  usage.add(launch(0), false);
  EXPECT_EQ(usage.admitted(), 1);
  EXPECT_DOUBLE_EQ(usage.sms(), 0.75);
}

TEST_F(ReservedSmUsageOfThree, ServiceTimeExcludesWaiting) {
  EXPECT_FALSE(usage.service_time(launch(0)));
  usage.add(launch(0), true);
  usage.start(OperationId{0}, at(1000));
  usage.start(OperationId{0}, at(1500));
  usage.remove(OperationId{0}, at(3700));
  EXPECT_EQ(usage.service_time(launch(1)), Duration(2700));
}

class ReservedSmUsageServiceTime : public ReservedSmUsageOfThree {
 protected:
  Duration after(int took) {
    usage.add(launch(0), true);
    usage.start(OperationId{0}, at(0));
    usage.remove(OperationId{0}, at(took));
    return *usage.service_time(launch(0));
  }
};

TEST_F(ReservedSmUsageServiceTime, IsTheMedianOfTheLatest) {
  EXPECT_EQ(after(8000), Duration(8000));
  for (int launch = 0; launch < 14; ++launch) after(4000);
  EXPECT_EQ(after(4100), Duration(4000));
  for (int launch = 0; launch < 7; ++launch) EXPECT_EQ(after(1'000'000), Duration(launch < 6 ? 4000 : 4100)) << launch;
  EXPECT_EQ(after(1'000'000), Duration(1'000'000)) << "it takes so long now";
}

TEST_F(ReservedSmUsageServiceTime, IsNeverZero) { EXPECT_EQ(after(0), Duration(1000)); }

TEST_F(ReservedSmUsageServiceTime, IgnoresLaunchesThatNeverStarted) {
  after(7000);
  usage.add(launch(0), true);
  usage.remove(OperationId{0}, at(50'000));
  EXPECT_EQ(usage.service_time(launch(0)), Duration(7000));
}

TEST_F(ReservedSmUsageOfThree, KnowsWhetherALessUrgentLaunchIsThere) {
  EXPECT_FALSE(usage.has_any_below(100));
  usage.add(launch(0, 2), true);
  usage.add(launch(1, 2), true);
  EXPECT_FALSE(usage.has_any_below(2));
  EXPECT_TRUE(usage.has_any_below(3));
  usage.remove(OperationId{0}, at(0));
  EXPECT_TRUE(usage.has_any_below(3));
  usage.remove(OperationId{1}, at(0));
  EXPECT_FALSE(usage.has_any_below(3));
}

}  // namespace
}  // namespace gpushare
