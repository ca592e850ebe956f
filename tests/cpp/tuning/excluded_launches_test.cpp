// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/excluded_launches.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

Event event_of(EventKind kind, int application, int operation = 0) {
  return {.application = ApplicationId{application}, .operation = OperationId{operation}, .kind = kind};
}

class ExcludedLaunch : public testing::Test {
 protected:
  ExcludedLaunch() { excluded_.add(OperationId{7}); }
  ExcludedLaunches excluded_;
};

TEST_F(ExcludedLaunch, ItsEventsDoNotConcernThePlan) {
  EXPECT_FALSE(excluded_.observe(event_of(EventKind::LaunchArrived, 1, 7)));
  EXPECT_FALSE(excluded_.observe(event_of(EventKind::BlockStarted, 1, 7)));
  EXPECT_FALSE(excluded_.observe(event_of(EventKind::BlockEnded, 1, 7)));
  EXPECT_FALSE(excluded_.observe(event_of(EventKind::LaunchEnded, 1, 7)));
  EXPECT_FALSE(excluded_.observe(event_of(EventKind::ApplicationEnded, 1)));
}

TEST_F(ExcludedLaunch, EventsOfOthersConcernThePlan) {
  EXPECT_TRUE(excluded_.observe(event_of(EventKind::LaunchArrived, 2, 8)));
  EXPECT_TRUE(excluded_.observe(event_of(EventKind::BlockEnded, 2, 8)));
  EXPECT_TRUE(excluded_.observe(event_of(EventKind::ApplicationEnded, 2)));
  EXPECT_TRUE(excluded_.observe(event_of(EventKind::DeadlineReached, 0)));
}

TEST_F(ExcludedLaunch, IsForgottenAtItsEnd) {
  excluded_.observe(event_of(EventKind::LaunchEnded, 1, 7));
  EXPECT_FALSE(excluded_.contains(OperationId{7}));
}

TEST_F(ExcludedLaunch, ALaterLaunchOfItsApplicationConcernsThePlanAgain) {
  excluded_.observe(event_of(EventKind::LaunchArrived, 1, 7));
  excluded_.observe(event_of(EventKind::LaunchEnded, 1, 7));
  EXPECT_TRUE(excluded_.observe(event_of(EventKind::LaunchArrived, 1, 9)));
  EXPECT_TRUE(excluded_.observe(event_of(EventKind::ApplicationEnded, 1)));
}

}  // namespace
}  // namespace gpushare
