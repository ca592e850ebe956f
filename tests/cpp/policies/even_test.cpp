// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_written_events.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

PolicyRehearsal three_launches(int sms) {
  return {"even", small_device(sms), workload_of({launch_of(9, 100), launch_of(9, 100), launch_of(9, 100)})};
}

TEST(Even, OneLaunchHasEverySm) {
  PolicyRehearsal run = three_launches(2);
  run.arrive(0, 0);
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4));
}

TEST(Even, EverySmBelongsToOneLaunch) {
  PolicyRehearsal run = three_launches(5);
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 0, 0, 0));
  EXPECT_THAT(run.quotas(1), ElementsAre(0, 0, 4, 4, 4));
}

TEST(Even, PartsDifferByOneSmAtMost) {
  PolicyRehearsal run = three_launches(7);
  for (int launch = 0; launch < 3; ++launch) run.arrive(launch, 0);
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 0, 0, 0, 0, 0));
  EXPECT_THAT(run.quotas(1), ElementsAre(0, 0, 4, 4, 0, 0, 0));
  EXPECT_THAT(run.quotas(2), ElementsAre(0, 0, 0, 0, 4, 4, 4));
}

TEST(Even, WithTooFewSmsTheLatestWaits) {
  PolicyRehearsal run = three_launches(2);
  for (int launch = 0; launch < 3; ++launch) run.arrive(launch, 0);
  EXPECT_THAT(run.quotas(2), ElementsAre(0, 0));
  run.end_launch(0, 100);
  EXPECT_THAT(run.quotas(1), ElementsAre(4, 0));
  EXPECT_THAT(run.quotas(2), ElementsAre(0, 4));
}

}  // namespace
}  // namespace gpushare
