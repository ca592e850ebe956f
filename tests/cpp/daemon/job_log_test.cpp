// SPDX-License-Identifier: Apache-2.0
#include "daemon/job_log.hpp"

#include <gtest/gtest.h>

#include "plane.hpp"

namespace gpushare::test {
namespace {

const auto logged_kernel = std::make_shared<const std::string>("scale");

TEST(JobLog, ForgetsTheOldest) {
  JobLog log(3);
  for (std::int64_t end = 1; end <= 5; ++end) log.add({.kernel = logged_kernel, .ended = end});
  std::vector<std::int64_t> ends;
  for (const PastJob& job : log.since(4)) ends.push_back(job.ended);
  EXPECT_EQ(ends, (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(log.since(0).size(), 3u);
}

TEST(ApplicationAccount, TimesAloneAddUpAndIdleTimeDoesNotCount) {
  const auto log = std::make_shared<JobLog>();
  ApplicationAccount account("alice", log);
  EXPECT_EQ(account.totals().ntt(), std::nullopt);
  account.submitted(0);
  account.submitted(5);
  EXPECT_EQ(account.totals().unfinished, 2u);
  account.ended(logged_kernel, 0, 30, JobStatus::Done, 10.0);
  account.ended(logged_kernel, 5, 50, JobStatus::Done, 10.0);
  EXPECT_DOUBLE_EQ(*account.totals().ntt(), 2.5);
  account.submitted(1000);
  account.ended(logged_kernel, 1000, 1010, JobStatus::Done, 10.0);
  EXPECT_DOUBLE_EQ(*account.totals().ntt(), 2.0);
  EXPECT_EQ(account.totals().turnaround, 30 + 45 + 10);
  EXPECT_EQ(account.totals().ended, 3u);
  EXPECT_EQ(*log->since(0).front().application, "alice");
}

TEST(ApplicationAccount, OneUnknownTimeMakesTheRestWorthless) {
  ApplicationAccount account("alice", nullptr);
  account.submitted(0);
  account.ended(logged_kernel, 0, 30, JobStatus::Done, std::nullopt);
  account.submitted(40);
  account.ended(logged_kernel, 40, 50, JobStatus::Done, 10.0);
  EXPECT_EQ(account.totals().ntt(), std::nullopt);
}

TEST(ApplicationAccount, WhatWasRefusedIsNoJob) {
  const auto log = std::make_shared<JobLog>();
  ApplicationAccount account("alice", log);
  account.submitted(0);
  account.ended(logged_kernel, 0, 30, JobStatus::Refused, 10.0);
  EXPECT_EQ(account.totals().unfinished, 0u);
  EXPECT_EQ(account.totals().ended, 0u);
  EXPECT_TRUE(log->since(0).empty());
}

TEST(JobLog, HearsOfEveryJobThatGoesThroughAPort) {
  PortServer server(echo());
  TestClient alice(server);
  const auto log = std::make_shared<JobLog>();
  const auto account = std::make_shared<ApplicationAccount>("alice@1", log);
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
  ASSERT_EQ(log->since(0).size(), 10u);
  EXPECT_EQ(*log->since(0).front().kernel, "scale");
}

}  // namespace
}  // namespace gpushare::test
