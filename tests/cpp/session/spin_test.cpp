// SPDX-License-Identifier: Apache-2.0
#include "core/session/spin.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

constexpr Duration most(20'000);

/// How many of these waits began by looking, if they take so long either way.
int looks(SpinBudget& budget, int waits, Duration looking, Duration sleeping) {
  int count = 0;
  for (int wait = 0; wait < waits; ++wait) {
    const bool looked = budget.begin_wait() > Duration{};
    count += looked;
    budget.end_wait(looked ? looking : sleeping);
  }
  return count;
}

TEST(SpinBudget, SpinsWhereThatIsFaster) {
  SpinBudget budget(most);
  EXPECT_GE(looks(budget, 1'000, Duration(2'000), Duration(12'000)), 990);
}

TEST(SpinBudget, SleepsWhereLookingHoldsUpTheOther) {
  SpinBudget budget(most);
  EXPECT_LE(looks(budget, 1'000, Duration(25'000), Duration(6'000)), 50);
}

TEST(SpinBudget, SleepsWhereWaitsAreLong) {
  SpinBudget budget(most);
  EXPECT_LE(looks(budget, 1'000, Duration(1'000'000), Duration(1'000'000)), 50);
}

TEST(SpinBudget, FollowsWhatChanges) {
  SpinBudget budget(most);
  looks(budget, 5'000, Duration(1'000'000), Duration(1'000'000));
  looks(budget, 5'000, Duration(2'000), Duration(12'000));  // a core has become free
  EXPECT_GE(looks(budget, 1'000, Duration(2'000), Duration(12'000)), 990);
  looks(budget, 1'000, Duration(60'000), Duration(12'000));
  EXPECT_LE(looks(budget, 1'000, Duration(60'000), Duration(12'000)), 20);
}

TEST(SpinBudget, GoesOnLookingAfterAPause) {
  SpinBudget budget(most);
  looks(budget, 1'000, Duration(8'000), Duration(14'000));
  for (int pause = 0; pause < 5; ++pause) {
    looks(budget, 1, Duration(1'000'000), Duration(1'000'000));
    EXPECT_GE(looks(budget, 500, Duration(8'000), Duration(14'000)), 490);
  }
}

TEST(SpinBudget, SpinsAgainSoonAfterLongWaits) {
  SpinBudget budget(most);
  looks(budget, 1'000, Duration(1'000'000), Duration(1'000'000));
  looks(budget, 200, Duration(8'000), Duration(14'000));
  EXPECT_GE(looks(budget, 500, Duration(8'000), Duration(14'000)), 490);
}

TEST(SpinBudget, DoesNotGoOnLookingInVainAfterAPause) {
  SpinBudget budget(most);
  looks(budget, 1'000, Duration(10 * most), Duration(10 * most));
  EXPECT_LE(looks(budget, 1'000, most * 13 / 10, most * 13 / 10), 50);
}

TEST(SpinBudget, NeverSpinsWithoutABudget) {
  SpinBudget budget(Duration{});
  EXPECT_EQ(looks(budget, 1'000, Duration(0), Duration(5'000)), 0);
}

}  // namespace
}  // namespace gpushare
