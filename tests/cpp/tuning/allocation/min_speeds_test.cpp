// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/tuning/allocation/allocation_search.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;

struct RandomSet {
  RandomSet(Dice& dice, const Device& device, int count) {
    for (int left = count; left > 0; --left) {
      kernels.push_back({.name = "random", .needs = random_needs(dice, device), .cost = random_cost(dice)});
    }
    for (const Kernel& kernel : kernels) contenders.push_back(contender_of(device, kernel));
  }
  SpeedEstimate of(const Device& device, const SmAllocation& allocation) const {
    return ContentionModel(device, contenders).estimate(allocation);
  }

  std::vector<Kernel> kernels;
  std::vector<Contender> contenders;  // of these
};

/// All vectors of two kernels, and all ways to give each of them SMs of its own.
std::vector<SmAllocation> every_division(const Device& device, const std::vector<Contender>& contenders) {
  std::vector<SmAllocation> found;
  const int first_most = contenders[0].max_residency;
  const int second_most = contenders[1].max_residency;
  for (int first = 1; first <= first_most; ++first) {
    for (int second = 1; second <= second_most; ++second) {
      const std::vector<int> blocks{first, second};
      if (can_share_an_sm(device, contenders, blocks)) found.push_back({{.sms = device.sms, .blocks = blocks}});
    }
  }
  for (int sms = 1; sms < device.sms; ++sms) {
    found.push_back({{.sms = sms, .blocks = {first_most, 0}}, {.sms = device.sms - sms, .blocks = {0, second_most}}});
  }
  return found;
}

/// Where some allocation keeps the minimum speeds, the one that is found does, with about the most throughput of all
/// that do. The reference keeps them with 5 % to spare: for many blocks per SM only every other vector is tried.
TEST(MinSpeeds, AreKeptWheneverAnAllocationKeepsThem) {
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device();
    RandomSet set(dice, device, 2);
    const std::vector<SmAllocation> divisions = every_division(device, set.contenders);
    const auto place = static_cast<std::size_t>(dice.between(0, static_cast<int>(divisions.size()) - 1));
    const SpeedEstimate reference = set.of(device, divisions[place]);
    if (reference.slowest < 0.01) continue;
    for (std::size_t i = 0; i < 2; ++i) set.contenders[i].min_speed = 0.95 * reference.speeds[i];
    double most = 0;
    for (const SmAllocation& each : divisions) {
      const SpeedEstimate estimate = set.of(device, each);
      if (estimate.min_speed_ratio >= 1) most = std::max(most, estimate.throughput);
    }
    const SpeedEstimate chosen = best_allocation(ContentionModel(device, set.contenders), {}).estimate;
    EXPECT_GE(chosen.min_speed_ratio, 1);
    EXPECT_GE(chosen.throughput, 0.97 * most);
    ++tried;
  }
  EXPECT_GT(tried, 200);
}

/// Minimum speeds that an equal partition breaks.
TEST(MinSpeeds, MoveTheConservativeSearchAwayFromTheEqualPartition) {
  int broken_by_equal_parts = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device(16);
    RandomSet set(dice, device, dice.between(2, 4));
    const SmAllocation equal = equal_partition(device, set.contenders);
    SmAllocation parts = equal;
    for (int moved = dice.between(1, 3); moved > 0; --moved) {
      --parts[0].sms;
      ++parts[1].sms;
    }
    const SpeedEstimate reference = set.of(device, parts);
    for (std::size_t i = 0; i < set.contenders.size(); ++i) {
      set.contenders[i].min_speed = 0.99 * reference.speeds[i];
    }
    broken_by_equal_parts += set.of(device, equal).min_speed_ratio < 1;
    EXPECT_GE(conservative_allocation(ContentionModel(device, set.contenders), {}).estimate.min_speed_ratio, 1);
  }
  EXPECT_GT(broken_by_equal_parts, 50) << "where an equal partition keeps them nothing has to be found";
}

TEST(MinSpeeds, AreMissedByTheSameShareWhereTheyAskForTooMuch) {
  const Device device = mixing_device(132);
  const Kernel one = issuing_kernel("one");
  const Kernel other = issuing_kernel("other");
  const Kernel third = issuing_kernel("third");
  const std::vector contenders{contender_of(device, one, 1, 0.8), contender_of(device, other, 9, 0.4),
                               contender_of(device, third, 1, 0.4)};
  const SpeedEstimate estimate = best_allocation(ContentionModel(device, contenders), {}).estimate;
  EXPECT_LT(estimate.min_speed_ratio, 1);
  EXPECT_NEAR(estimate.speeds[0] / 0.8, estimate.min_speed_ratio, 0.05);
  EXPECT_NEAR(estimate.speeds[1] / 0.4, estimate.min_speed_ratio, 0.05);
  EXPECT_NEAR(estimate.speeds[2] / 0.4, estimate.min_speed_ratio, 0.05);
}

TEST(MinSpeeds, ApplyToEachKernelSeparately) {
  const Kernel kernel = issuing_kernel();
  const Device device = mixing_device();
  const std::vector contenders{contender_of(device, kernel, 1, 0.6), contender_of(device, kernel, 1, 0.2)};
  EXPECT_TRUE(estimate_from({0.6, 0.2}, contenders).keeps({}));
  EXPECT_FALSE(estimate_from({0.5, 0.5}, contenders).keeps({}));
  EXPECT_FALSE(estimate_from({0.8, 0.1}, contenders).keeps({}));
  EXPECT_NEAR(estimate_from({0.5, 0.1}, contenders).min_speed_ratio, 0.5, 1e-12);
}

}  // namespace
}  // namespace gpushare
