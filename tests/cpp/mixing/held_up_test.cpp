// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/held_up.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

/// A launch of the application that takes so long from its arrival to its end.
void launch(HeldUp& held_up, ApplicationId application, Time& now, std::int64_t turnaround) {
  held_up.observe({.time = now, .application = application, .kind = EventKind::LaunchArrived});
  now += Duration(turnaround);
  held_up.observe({.time = now, .application = application, .kind = EventKind::LaunchEnded});
}

TEST(HeldUp, IsWhoHasTakenMuchLongerThanItsShortest) {
  HeldUp held_up;
  Time now{};
  for (const std::int64_t turnaround : {300, 100, 290}) {
    launch(held_up, ApplicationId{0}, now, turnaround);
    EXPECT_FALSE(held_up.has_been(ApplicationId{0})) << turnaround;
  }
  launch(held_up, ApplicationId{1}, now, 1000);
  EXPECT_FALSE(held_up.has_been(ApplicationId{1}));  // perhaps it always does
  launch(held_up, ApplicationId{0}, now, 310);
  EXPECT_TRUE(held_up.has_been(ApplicationId{0}));
  EXPECT_FALSE(held_up.has_been(ApplicationId{1}));
  launch(held_up, ApplicationId{0}, now, 100);
  EXPECT_TRUE(held_up.has_been(ApplicationId{0}));
}

TEST(HeldUp, IsForgottenWithItsApplication) {
  HeldUp held_up;
  Time now{};
  launch(held_up, ApplicationId{0}, now, 100);
  launch(held_up, ApplicationId{0}, now, 1000);
  held_up.observe({.time = now, .application = ApplicationId{0}, .kind = EventKind::ApplicationEnded});
  EXPECT_FALSE(held_up.has_been(ApplicationId{0}));
}

}  // namespace
}  // namespace gpushare
