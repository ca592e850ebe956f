// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/port_jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpushare::daemon {
namespace {

using testing::ElementsAre;

std::vector<JobNumber> numbers(const std::vector<EndedJob>& ended) {
  std::vector<JobNumber> found;
  for (const EndedJob& each : ended) found.push_back(each.job);
  return found;
}

class PortJobsOfThree : public testing::Test {
 protected:
  PortJobsOfThree() {
    for (const JobNumber job : {1, 2, 3}) jobs_.add(job, nullptr);
  }
  std::vector<JobNumber> taken() {
    std::vector<EndedJob> ended;
    jobs_.take_ended(ended);
    return numbers(ended);
  }
  PortJobs jobs_;
};

TEST_F(PortJobsOfThree, AResultIsKeptUntilTheJobIsForgotten) {
  EXPECT_EQ(jobs_.result(1), nullptr);
  jobs_.end(1, {.ended = 5});
  ASSERT_NE(jobs_.result(1), nullptr);
  EXPECT_EQ(jobs_.result(1)->ended, 5);
  jobs_.forget(1);
  EXPECT_EQ(jobs_.result(1), nullptr);
  EXPECT_TRUE(jobs_.is_over(1));
  EXPECT_FALSE(jobs_.is_over(2));
}

TEST_F(PortJobsOfThree, EndsBeforeTheyAreCollectedAreTakenToo) {
  jobs_.end(2, {});
  EXPECT_THAT(taken(), ElementsAre());
  jobs_.collect_ends();
  EXPECT_THAT(taken(), ElementsAre(2));
  EXPECT_FALSE(jobs_.knows(2)) << "forgotten";
}

TEST_F(PortJobsOfThree, AJobThatAThreadWaitsForIsNotTaken) {
  jobs_.collect_ends();
  jobs_.begin_wait(1);
  jobs_.end(1, {});
  jobs_.end(3, {});
  EXPECT_THAT(taken(), ElementsAre(3));
  jobs_.end_wait(1, true);
  EXPECT_THAT(taken(), ElementsAre(1));
}

TEST_F(PortJobsOfThree, AForgottenJobCannotEnd) {
  jobs_.collect_ends();
  jobs_.forget(1);
  jobs_.end(1, {});
  EXPECT_THAT(taken(), ElementsAre());
}

TEST_F(PortJobsOfThree, AllAreTakenInOrderAndTheUnfinishedAreLost) {
  jobs_.end(2, {});
  const std::vector<EndedJob> all = jobs_.take_all();
  EXPECT_THAT(numbers(all), ElementsAre(1, 2, 3));
  EXPECT_TRUE(all[0].result.is_lost);
  EXPECT_FALSE(all[1].result.is_lost);
  EXPECT_EQ(jobs_.size(), 0U);
}

TEST_F(PortJobsOfThree, WhatIsLeftIsTakenOnce) {
  EXPECT_FALSE(jobs_.has_left());
  jobs_.leave({{.job = 9}});
  EXPECT_TRUE(jobs_.has_left());
  EXPECT_THAT(numbers(jobs_.take_left()), ElementsAre(9));
  EXPECT_FALSE(jobs_.has_left());
}

}  // namespace
}  // namespace gpushare::daemon
