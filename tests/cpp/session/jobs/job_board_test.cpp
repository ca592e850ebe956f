// SPDX-License-Identifier: Apache-2.0
#include "core/session/jobs/job_board.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

TEST(JobBoard, KnowsHowEveryJobEnded) {
  JobBoard board;
  const JobId first = board.open();
  const JobId second = board.open();
  const JobId third = board.open();
  EXPECT_EQ(board.unfinished(), 3U);
  board.end(second);
  board.cancel(third, "gone");
  EXPECT_FALSE(board.is_over(first));
  EXPECT_TRUE(board.is_over(second));
  EXPECT_TRUE(board.is_over(third));
  board.end(first);
  EXPECT_EQ(board.unfinished(), 0U);
  for (const JobId job : {first, second, third}) EXPECT_TRUE(board.is_over(job));
  board.require_not_cancelled(first);
  board.require_not_cancelled(second);
  EXPECT_THROW(board.require_not_cancelled(third), Cancelled);
  EXPECT_EQ(board.open(), third + 1);
  EXPECT_FALSE(board.is_over(third + 1));
}

TEST(JobBoard, ForgetsTheOldestReasonsWhereItMay) {
  JobBoard board(2);
  for (int job = 0; job < 3; ++job) board.cancel(board.open(), "gone");
  board.require_not_cancelled(0);
  EXPECT_THROW(board.require_not_cancelled(1), Cancelled);
  EXPECT_THROW(board.require_not_cancelled(2), Cancelled);
}

TEST(JobBoard, ReturnsEveryWatchedJobOnceWhenItIsOver) {
  JobBoard board;
  const std::vector<JobId> jobs = {board.open(), board.open(), board.open(), board.open()};
  board.end(jobs[0]);
  for (const JobId job : {jobs[0], jobs[1], jobs[3]}) board.watch(job);
  EXPECT_EQ(board.take_ends_of_watched(), std::vector{jobs[0]});
  board.end(jobs[2]);
  EXPECT_FALSE(board.has_ends_of_watched());
  EXPECT_FALSE(board.is_awaited(jobs[2]));
  board.cancel(jobs[1], "gone");
  EXPECT_TRUE(board.is_awaited(jobs[1]));
  EXPECT_EQ(board.take_ends_of_watched(), std::vector{jobs[1]});
  board.give_up_watched();
  EXPECT_EQ(board.take_ends_of_watched(), std::vector{jobs[3]});
  EXPECT_FALSE(board.has_ends_of_watched());
}

TEST(JobBoard, IsIdleWhereAllThatIsLeftIsAboutToEnd) {
  JobBoard board;
  EXPECT_TRUE(board.is_idle());
  const JobId first = board.open();
  board.expect_end(first);
  EXPECT_TRUE(board.is_idle());
  EXPECT_FALSE(board.is_over(first));
  const JobId second = board.open();
  EXPECT_FALSE(board.is_idle());
  board.end(first);
  board.expect_end(first);
  EXPECT_FALSE(board.is_idle());
  board.end(second);
  EXPECT_TRUE(board.is_idle());
}

}  // namespace
}  // namespace gpushare
