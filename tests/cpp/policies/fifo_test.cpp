// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_written_events.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

TEST(Fifo, ServesInOrderOfArrivalWithoutQuotas) {
  PolicyRehearsal run("fifo", small_device(2), workload_of({launch_of(9, 100), launch_of(9, 10)}));
  run.arrive(1, 0);
  run.arrive(0, 50);
  EXPECT_THAT(run.order(), ElementsAre(1, 0));
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4));
  EXPECT_THAT(run.quotas(1), ElementsAre(4, 4));
}

TEST(Fifo, DecidesOnlyAtArrivalsAndEnds) {
  PolicyRehearsal run("fifo", small_device(), workload_of({launch_of(9, 100)}));
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  EXPECT_EQ(run.plans(), 1);
}

}  // namespace
}  // namespace gpushare
