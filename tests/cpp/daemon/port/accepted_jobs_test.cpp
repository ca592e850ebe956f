// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/accepted_jobs.hpp"

#include <gtest/gtest.h>

namespace gpushare::daemon {
namespace {

class AcceptedJobsTest : public testing::Test {
 protected:
  /// The fences that end with this job.
  std::vector<std::uint64_t> end(std::uint64_t job) {
    std::vector<std::uint64_t> fences;
    jobs_.end();
    jobs_.end_fences(job, [&](std::uint64_t fence, std::int64_t accepted) {
      EXPECT_EQ(accepted, static_cast<std::int64_t>(10 * fence));
      fences.push_back(fence);
    });
    return fences;
  }
  FenceFate add_fence(std::uint64_t job) { return jobs_.add_fence(job, static_cast<std::int64_t>(10 * job)); }

  AcceptedJobs jobs_{2};
};

TEST_F(AcceptedJobsTest, FenceEndsWithTheLastJobBeforeIt) {
  jobs_.begin();  // 1
  jobs_.begin();  // 2
  EXPECT_EQ(add_fence(3), FenceFate::Waits);
  jobs_.begin();  // 4
  EXPECT_EQ(add_fence(5), FenceFate::Waits);
  EXPECT_EQ(end(2), std::vector<std::uint64_t>{});
  EXPECT_EQ(end(4), std::vector<std::uint64_t>{});
  EXPECT_EQ(end(1), (std::vector<std::uint64_t>{3, 5}));
  EXPECT_EQ(jobs_.unfinished(), 0U);
  EXPECT_EQ(jobs_.waiting_fences(), 0U);
}

TEST_F(AcceptedJobsTest, FenceBehindNothingEndsAtOnceAndOneTooManyIsRefused) {
  EXPECT_EQ(add_fence(1), FenceFate::Ends);
  jobs_.begin();  // 2
  EXPECT_EQ(add_fence(3), FenceFate::Waits);
  EXPECT_EQ(add_fence(4), FenceFate::Waits);
  EXPECT_EQ(add_fence(5), FenceFate::Refused);
  EXPECT_EQ(jobs_.commands(), 5U);
  EXPECT_EQ(end(2), (std::vector<std::uint64_t>{3, 4}));
}

}  // namespace
}  // namespace gpushare::daemon
