// SPDX-License-Identifier: Apache-2.0
#include "core/session/session_lifecycle.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gpushare {
namespace {

SessionFailure failure_of_begun_jobs() {
  return {std::make_exception_ptr(DeviceError("cause")),
          std::make_exception_ptr(DeviceError("of begun")),
          std::make_exception_ptr(Cancelled("of not run")),
          {}};
}

TEST(SessionLifecycle, OpenSessionAcceptsEverything) {
  const SessionLifecycle lifecycle;
  EXPECT_TRUE(lifecycle.is_open());
  EXPECT_FALSE(lifecycle.is_over());
  EXPECT_NO_THROW(lifecycle.require_open());
  EXPECT_NO_THROW(lifecycle.require_accepts_work());
}

TEST(SessionLifecycle, ClosedSessionRefusesAndKeepsItsFirstReason) {
  SessionLifecycle lifecycle;
  EXPECT_TRUE(lifecycle.close("late"));
  EXPECT_FALSE(lifecycle.close("closed"));
  EXPECT_FALSE(lifecycle.is_open());
  EXPECT_TRUE(lifecycle.gives_up());
  EXPECT_EQ(lifecycle.why_given_up(), "late");
  EXPECT_THROW(lifecycle.require_open(), InvalidInput);
  EXPECT_THROW(lifecycle.require_accepts_work(), InvalidInput);
}

TEST(SessionLifecycle, SessionThatIsClosedWithoutAReasonFinishesItsJobs) {
  SessionLifecycle lifecycle;
  lifecycle.close("");
  EXPECT_TRUE(lifecycle.is_closing());
  EXPECT_FALSE(lifecycle.gives_up());
}

TEST(SessionLifecycle, FailureCountsOnceAndSaysAnotherThingOfNewWork) {
  SessionLifecycle lifecycle;
  EXPECT_TRUE(lifecycle.fail(failure_of_begun_jobs()));
  EXPECT_FALSE(lifecycle.fail(SessionFailure(std::make_exception_ptr(std::runtime_error("later")))));
  EXPECT_FALSE(lifecycle.is_open());
  EXPECT_FALSE(lifecycle.is_closing());
  EXPECT_THROW(lifecycle.require_open(), DeviceError);
  EXPECT_THROW(lifecycle.require_accepts_work(), Cancelled);
  lifecycle.close("closed");
  EXPECT_THROW(lifecycle.require_open(), DeviceError);
}

}  // namespace
}  // namespace gpushare
