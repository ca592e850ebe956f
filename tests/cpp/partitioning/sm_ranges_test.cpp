// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/sm_ranges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/kernel_rates/launch_rate.hpp"
#include "core/model/residency.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

Device loaded_device(Dice& dice) {
  Device device = small_device(dice.between(3, 40));
  device.off_sm = {.dram = Bandwidth{dice.between(2, 100) * 1e9},
                   .delay = {.linear = dice.ratio(), .saturating = dice.ratio() / 2}};
  return device;
}

Launch any_launch(Dice& dice, const Device& device) {
  Launch launch = random_launch(dice, device);
  launch.kernel.cost.memory = (launch.kernel.cost.latency - launch.kernel.cost.issue) / 2;
  launch.blocks = dice.between(1, 4000);
  return launch;
}

/// The sum of normalised progress.
double throughput(const Device& device, const std::vector<const Launch*>& launches, const std::vector<int>& sms) {
  std::vector<const Kernel*> kernels;
  std::vector<SmGroup> groups;
  for (std::size_t i = 0; i < sms.size(); ++i) {
    kernels.push_back(&launches[i]->kernel);
    const auto own = first_round(*launches[i], max_residency(device, launches[i]->kernel.needs), sms[i], i, sms.size());
    groups.insert(groups.end(), own.begin(), own.end());
  }
  const std::vector<double> rates = corun_rates(device, kernels, groups);
  double sum = 0;
  for (std::size_t i = 0; i < sms.size(); ++i) {
    const Launch& launch = *launches[i];
    sum += rates[i] * places_used(launch, max_residency(device, launch.kernel.needs), sms[i]) /
           launch_rate_alone(device, launch);
  }
  return sum;
}

TEST(SmRanges, OfTwoAreNearlyAsGoodAsTheBestOfAllDivisions) {
  double worst = 1;
  double product = 1;
  constexpr int cases = 200;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    Dice dice(seed);
    const Device device = loaded_device(dice);
    const Launch first = any_launch(dice, device);
    const Launch second = any_launch(dice, device);
    const std::vector<const Launch*> launches{&first, &second};
    double best = 0;
    for (int sms = 1; sms < device.sms; ++sms) {
      best = std::max(best, throughput(device, launches, {sms, device.sms - sms}));
    }
    const double ratio = throughput(device, launches, sm_ranges(device, launches, RangeGoal::Throughput)) / best;
    worst = std::min(worst, ratio);
    product *= ratio;
  }
  EXPECT_GT(worst, 0.93);
  EXPECT_GT(std::pow(product, 1.0 / cases), 0.99);
}

TEST(SmRanges, CoverTheDeviceAndEveryApplication) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = loaded_device(dice);
    std::vector<Launch> many;
    for (int left = dice.between(2, std::min(6, device.sms)); left > 0; --left)
      many.push_back(any_launch(dice, device));
    std::vector<const Launch*> launches;
    for (const Launch& launch : many) launches.push_back(&launch);
    for (const RangeGoal goal : {RangeGoal::Throughput, RangeGoal::Balance}) {
      const std::vector<int> sms = sm_ranges(device, launches, goal);
      EXPECT_EQ(std::accumulate(sms.begin(), sms.end(), 0), device.sms);
      EXPECT_GE(std::ranges::min(sms), 1);
    }
  }
}

}  // namespace
}  // namespace gpushare
