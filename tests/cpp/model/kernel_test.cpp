// SPDX-License-Identifier: Apache-2.0
#include "core/model/kernel.hpp"

#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "core/simulation/contention.hpp"

namespace gpushare {
namespace {

TEST(CostFromFullResidency, GivesBackTheMeanBlockTimeAtFullResidency) {
  for (const int residency : {1, 2, 5, 8, 32}) {
    for (const double utilisation : {0.05, 0.5, 0.9, 0.99}) {
      const Duration mean(14'529'000);
      const BlockCost cost = cost_from_full_residency(mean, residency, utilisation);
      const Residents residents{&cost, residency};
      EXPECT_NEAR(block_times({&residents, 1}).front(), nanoseconds(mean), 100) << residency << ", " << utilisation;
    }
  }
}

TEST(CostFromFullResidency, KeepsTheIssueSlotsAsBusyAsSaid) {
  const BlockCost cost = cost_from_full_residency(Duration(1'000'000), 8, 0.6);
  EXPECT_NEAR(8 * nanoseconds(cost.issue) / 1'000'000, 0.6, 1e-6);
}

TEST(CostFromFullResidency, OneBlockAloneTakesItsMeanTime) {
  EXPECT_EQ(cost_from_full_residency(Duration(1000), 1, 0.5).latency, Duration(1000));
}

TEST(CostFromFullResidency, RefusesWhatNoKernelCanHave) {
  EXPECT_THROW(cost_from_full_residency(Duration(0), 4, 0.5), InvalidInput);
  EXPECT_THROW(cost_from_full_residency(Duration(10), 0, 0.5), InvalidInput);
  EXPECT_THROW(cost_from_full_residency(Duration(10), 4, 0), InvalidInput);
  EXPECT_THROW(cost_from_full_residency(Duration(10), 4, 1), InvalidInput);
}

}  // namespace
}  // namespace gpushare
