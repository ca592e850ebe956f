// SPDX-License-Identifier: Apache-2.0
#include "daemon/application_account.hpp"

#include <gtest/gtest.h>

#include "plane.hpp"

namespace gpushare::test {
namespace {

TEST(ApplicationAccount, TimesAloneAddUpAndIdleTimeDoesNotCount) {
  ApplicationAccount account;
  EXPECT_EQ(account.totals().ntt(), std::nullopt);
  account.submitted(0);
  account.submitted(5);
  EXPECT_EQ(account.totals().unfinished, 2u);
  account.ended(0, 30, JobStatus::Done, 10.0);
  account.ended(5, 50, JobStatus::Done, 10.0);
  EXPECT_DOUBLE_EQ(*account.totals().ntt(), 2.5);
  account.submitted(1000);
  account.ended(1000, 1010, JobStatus::Done, 10.0);
  EXPECT_DOUBLE_EQ(*account.totals().ntt(), 2.0);
  EXPECT_EQ(account.totals().turnaround, 30 + 45 + 10);
  EXPECT_EQ(account.totals().ended, 3u);
}

TEST(ApplicationAccount, OneUnknownTimeMakesTheRestWorthless) {
  ApplicationAccount account;
  account.submitted(0);
  account.ended(0, 30, JobStatus::Done, std::nullopt);
  account.submitted(40);
  account.ended(40, 50, JobStatus::Done, 10.0);
  EXPECT_EQ(account.totals().ntt(), std::nullopt);
}

TEST(ApplicationAccount, WhatWasRefusedIsNoJob) {
  ApplicationAccount account;
  account.submitted(0);
  account.ended(0, 30, JobStatus::Refused, 10.0);
  EXPECT_EQ(account.totals().unfinished, 0u);
  EXPECT_EQ(account.totals().ended, 0u);
}

TEST(ApplicationAccount, TurnaroundsCountAtTheFirstBoundThatTheyDoNotExceed) {
  ApplicationAccount account;
  for (const std::int64_t turnaround : {std::int64_t{0}, turnaround_bounds[0], turnaround_bounds[0] + 1,
                                        turnaround_bounds.back(), turnaround_bounds.back() + 1}) {
    account.submitted(0);
    account.ended(0, turnaround, JobStatus::Done, std::nullopt);
  }
  TurnaroundCounts expected{};
  expected[0] = 2;
  expected[1] = 1;
  expected[turnaround_bounds.size() - 1] = 1;
  expected[turnaround_bounds.size()] = 1;
  EXPECT_EQ(account.totals().turnarounds, expected);
}

TEST(ApplicationAccount, HearsOfEveryJobThatGoesThroughAPort) {
  PortServer server(echo());
  TestClient alice(server);
  const auto account = std::make_shared<ApplicationAccount>();
  ClientTables& tables = alice.at_worker->tables();
  LaunchRequest request = alice.request();
  request.application =
      tables.applications.add(std::make_shared<ApplicationEntry>(ApplicationEntry{.name = "a", .account = account}));
  request.kernel = tables.kernels.add(std::make_shared<KernelEntry>(
      KernelEntry{.name = "scale", .argument_bytes = argument_bytes, .alone = AloneTime{2.0, 50.0}}));
  for (int time = 0; time < 10; ++time) alice.port.launch(request);
  request.grid = {0, 1, 1};
  alice.port.launch(request);
  ASSERT_TRUE(alice.port.wait(alice.port.fence(), 10s));
  EXPECT_EQ(account->totals().ended, 10u);
  EXPECT_EQ(account->totals().unfinished, 0u);
  EXPECT_DOUBLE_EQ(*account->totals().alone, 10 * 200.0);  // 100 blocks
}

}  // namespace
}  // namespace gpushare::test
