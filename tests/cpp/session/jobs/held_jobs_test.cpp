// SPDX-License-Identifier: Apache-2.0
#include "core/session/jobs/held_jobs.hpp"

#include <gtest/gtest.h>

#include "core/policies/registry.hpp"
#include "core/session/realtime_simulated_gpu.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

class HeldJobsTest : public testing::TestWithParam<bool> {
 protected:
  HeldJobsTest()
      : session_(realtime_device(small_device(), 1, 1.0),
                 [](const std::shared_ptr<const void>& /*world*/) { return make_policy("fifo"); },
                 {.keeps_record = GetParam()}),
        application_(session_.add({.name = "a"})) {}

  JobId hold(int things) {
    const JobId job = session_.submit(application_, launch_of(1, 1000), nullptr, true);
    held_.hold(job, things);
    return job;
  }
  bool ends(JobId job) { return session_.wait(job, std::chrono::seconds(30)); }

  Session session_;
  ApplicationId application_;
  HeldJobs held_{session_};
};

TEST_P(HeldJobsTest, JobBeginsOnceAllHasHappened) {
  const JobId job = hold(2);
  held_.happened(job);
  EXPECT_FALSE(session_.wait(job, std::chrono::milliseconds(2)));
  held_.happened(job);
  EXPECT_TRUE(ends(job));
  EXPECT_TRUE(held_.failed().empty());
}

TEST_P(HeldJobsTest, FirstFailureCancelsTheJobAndIsKeptOnlyWithTheRecord) {
  const JobId job = hold(3);
  held_.happened(job);
  held_.happened(job, "it has failed");
  held_.happened(job, "and another");
  held_.happened(job);
  EXPECT_THROW(ends(job), Cancelled);
  EXPECT_EQ(held_.failed(), GetParam() ? std::vector{job} : std::vector<JobId>{});
  EXPECT_TRUE(ends([&] {
    const JobId next = hold(1);
    held_.happened(next);
    return next;
  }()));
}

TEST_P(HeldJobsTest, WhatHappensOnceTheyAreClosedDoesNothing) {
  const JobId job = hold(1);
  held_.close();
  held_.happened(job);
  held_.happened(job, "it has failed");
  EXPECT_FALSE(session_.wait(job, std::chrono::milliseconds(2)));
  EXPECT_TRUE(held_.failed().empty());
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutARecord, HeldJobsTest, testing::Bool());

}  // namespace
}  // namespace gpushare
