// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/guests.hpp"

#include <gtest/gtest.h>

#include "sample_workloads.hpp"

namespace gpushare {
namespace {

class ThreeGuests : public testing::Test {
 protected:
  /// Of three blocks, four of which fill an SM.
  RunningLaunch launch(int number, int priority = 1) const {
    return {.id = static_cast<OperationId>(number), .launch = &three, .priority = priority, .max_residency = 4};
  }
  static Time at(std::int64_t nanoseconds) { return Time(Duration(nanoseconds)); }

  Launch three = test::launch_of(3, 1000);
  Guests guests;
};

TEST_F(ThreeGuests, FillSmsTogetherUntilTheyLeave) {
  for (int number = 0; number < 3; ++number) guests.come(launch(number), number > 0);
  EXPECT_DOUBLE_EQ(guests.sms(), 2.25);
  EXPECT_EQ(guests.admitted(), 2);
  EXPECT_FALSE(guests.leave(OperationId{0}, at(10)));
  EXPECT_TRUE(guests.leave(OperationId{1}, at(10)));
  EXPECT_DOUBLE_EQ(guests.sms(), 0.75);
  EXPECT_EQ(guests.admitted(), 1);
  EXPECT_FALSE(guests.leave(OperationId{1}, at(20)));
}

TEST_F(ThreeGuests, AnAdmittedLaunchStaysAdmitted) {
  guests.come(launch(0), true);
  guests.come(launch(0), false);
  EXPECT_EQ(guests.admitted(), 1);
  EXPECT_DOUBLE_EQ(guests.sms(), 0.75);
}

TEST_F(ThreeGuests, WaitingIsNoService) {
  EXPECT_FALSE(guests.service(launch(0)));
  guests.come(launch(0), true);
  guests.begin(OperationId{0}, at(1000));
  guests.begin(OperationId{0}, at(1500));
  guests.leave(OperationId{0}, at(3700));
  EXPECT_EQ(guests.service(launch(1)), Duration(2700));
}

class ServedGuests : public ThreeGuests {
 protected:
  Duration after(int took) {
    guests.come(launch(0), true);
    guests.begin(OperationId{0}, at(0));
    guests.leave(OperationId{0}, at(took));
    return *guests.service(launch(0));
  }
};

TEST_F(ServedGuests, TheMedianOfTheLatestCounts) {
  EXPECT_EQ(after(8000), Duration(8000));
  for (int launch = 0; launch < 14; ++launch) after(4000);
  EXPECT_EQ(after(4100), Duration(4000));
  for (int launch = 0; launch < 7; ++launch) EXPECT_EQ(after(1'000'000), Duration(launch < 6 ? 4000 : 4100)) << launch;
  EXPECT_EQ(after(1'000'000), Duration(1'000'000)) << "it takes so long now";
}

TEST_F(ServedGuests, NoLaunchTakesNoTime) { EXPECT_EQ(after(0), Duration(1000)); }

TEST_F(ServedGuests, ALaunchWithdrawnBeforeItBeginsIsNoSample) {
  after(7000);
  guests.come(launch(0), true);
  guests.leave(OperationId{0}, at(50'000));
  EXPECT_EQ(guests.service(launch(0)), Duration(7000));
}

TEST_F(ThreeGuests, KnowWhetherALaunchOfLowerPriorityIsAdmitted) {
  EXPECT_FALSE(guests.any_below(100));
  guests.come(launch(0, 2), true);
  guests.come(launch(1, 2), true);
  EXPECT_FALSE(guests.any_below(2));
  EXPECT_TRUE(guests.any_below(3));
  guests.leave(OperationId{0}, at(0));
  EXPECT_TRUE(guests.any_below(3));
  guests.leave(OperationId{1}, at(0));
  EXPECT_FALSE(guests.any_below(3));
}

}  // namespace
}  // namespace gpushare
