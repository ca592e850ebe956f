// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/job_pool.hpp"

#include <gtest/gtest.h>

namespace gpushare::daemon {
namespace {

TEST(JobPool, SaysThatAPlaceWasWantedWhenOneComesBack) {
  JobPool pool(1);
  EXPECT_TRUE(pool.take());
  EXPECT_FALSE(pool.give_back(0));
  EXPECT_FALSE(pool.take());
  EXPECT_TRUE(pool.give_back(1));
  EXPECT_FALSE(pool.give_back(0));
  EXPECT_EQ(pool.free(), 1U);
}

TEST(JobPlaces, JobsBeyondThoseOfThePortTakePlacesOfThePool) {
  const auto pool = std::make_shared<JobPool>(3);
  JobPlaces places(10, 2, pool);
  EXPECT_TRUE(places.allow_one_more(1));
  EXPECT_EQ(pool->free(), 3U);
  EXPECT_TRUE(places.allow_one_more(2));
  EXPECT_TRUE(places.allow_one_more(3));
  EXPECT_EQ(pool->free(), 1U);
  EXPECT_FALSE(places.give_back(4));
  EXPECT_EQ(pool->free(), 1U);
  EXPECT_FALSE(places.give_back(0));
  EXPECT_EQ(pool->free(), 3U);
}

TEST(JobPlaces, PortThatFindsNoPlaceIsStalledUntilAnotherGivesOneBack) {
  const auto pool = std::make_shared<JobPool>(1);
  JobPlaces first(10, 1, pool);
  JobPlaces second(10, 1, pool);
  EXPECT_TRUE(first.allow_one_more(1));
  EXPECT_FALSE(second.allow_one_more(1));
  EXPECT_TRUE(second.is_stalled());
  EXPECT_TRUE(first.give_back(1));
  EXPECT_TRUE(second.resume());
  EXPECT_FALSE(second.resume());
  EXPECT_TRUE(second.allow_one_more(1));
}

TEST(JobPlaces, NoPortHasMoreThanItsLimit) {
  JobPlaces places(2, 2, nullptr);
  EXPECT_TRUE(places.allow_one_more(1));
  EXPECT_FALSE(places.allow_one_more(2));
  EXPECT_FALSE(places.give_back(0));
}

}  // namespace
}  // namespace gpushare::daemon
