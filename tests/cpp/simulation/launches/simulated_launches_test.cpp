// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/launches/simulated_launches.hpp"

#include <gtest/gtest.h>

#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

class SimulatedLaunchesTest : public testing::Test {
 protected:
  ActiveLaunch& add(int id) {
    return launches_.add({.id = static_cast<OperationId>(id), .operation = &operation_}, device_, 1, 0);
  }

  const Device device_ = small_device();
  const Operation operation_ = launch_of(4, 100);
  SimulatedLaunches launches_;
};

TEST_F(SimulatedLaunchesTest, AreFoundByTheirNumbers) {
  ActiveLaunch& third = add(3);
  EXPECT_EQ(launches_.find(OperationId{3}), &third);
  EXPECT_EQ(launches_.find(OperationId{1}), nullptr);
  EXPECT_EQ(launches_.find(OperationId{9}), nullptr);
}

TEST_F(SimulatedLaunchesTest, UnendedOnesKeepTheOrderOfSubmission) {
  ActiveLaunch& late = add(5);
  ActiveLaunch& first = add(0);
  ActiveLaunch& second = add(1);
  EXPECT_EQ(launches_.unended(), (std::vector{&late, &first, &second}));
  launches_.end(first);
  EXPECT_EQ(launches_.unended(), (std::vector{&late, &second}));
  EXPECT_EQ(launches_.find(OperationId{0}), &first);
}

TEST_F(SimulatedLaunchesTest, NumberThatComesAgainIsAnotherLaunch) {
  ActiveLaunch& before = add(2);
  const std::uint64_t number = before.number;
  launches_.end(before);
  EXPECT_NE(add(2).number, number);
  EXPECT_EQ(launches_.submitted(), 2U);
}

}  // namespace
}  // namespace gpushare
