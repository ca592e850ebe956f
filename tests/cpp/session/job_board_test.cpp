// SPDX-License-Identifier: Apache-2.0
#include "core/session/job_board.hpp"

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

}  // namespace
}  // namespace gpushare
