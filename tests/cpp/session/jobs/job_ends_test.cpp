// SPDX-License-Identifier: Apache-2.0
#include "core/session/jobs/job_ends.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace gpushare {
namespace {

using namespace std::chrono_literals;

constexpr Duration end_patience = 30s;

class JobEndsTest : public testing::Test {
 protected:
  JobId open() {
    const std::scoped_lock lock(mutex_);
    return ends_.board().open();
  }
  bool await(JobId job, Duration timeout) {
    std::unique_lock lock(mutex_);
    ends_.await(job, timeout, lock, [&] { return is_given_up_; });
    return ends_.board().is_over(job);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  JobEnds ends_{mutex_, changed_, JobBoard::all_reasons};
  bool is_given_up_ = false;
};

TEST_F(JobEndsTest, ThreadsWaitForTheJobThatTheyName) {
  const JobId first = open();
  const JobId second = open();
  std::jthread ending([&] {
    std::this_thread::sleep_for(2ms);  // longer than threads spin
    ends_.end(second);
    ends_.cancel(first, "gone");
  });
  std::jthread beside([&] { EXPECT_TRUE(await(first, end_patience)); });
  EXPECT_TRUE(await(second, end_patience));
  ending.join();
  beside.join();
  EXPECT_THROW(ends_.board().require_not_cancelled(first), Cancelled);
  EXPECT_NO_THROW(ends_.board().require_not_cancelled(second));
}

TEST_F(JobEndsTest, JobsThatEndAtOnceAreSeen) {
  for (int trial = 0; trial < 200; ++trial) {
    const JobId job = open();
    std::jthread ending([&] { ends_.end(job); });
    ASSERT_TRUE(await(job, end_patience));
  }
}

TEST_F(JobEndsTest, WaitEndsWithoutTheJobWhenTheTimeIsUpOrTheRestIsGivenUp) {
  const JobId job = open();
  EXPECT_FALSE(await(job, 1us));
  EXPECT_FALSE(await(job, 1ms));
  std::jthread giving_up([&] {
    const std::scoped_lock lock(mutex_);
    is_given_up_ = true;
    changed_.notify_all();
  });
  EXPECT_FALSE(await(job, end_patience));
}

}  // namespace
}  // namespace gpushare
