// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/allocation_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/tuning/allocation/allocation_search.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;

/// The greatest throughput of all vectors, tried one by one.
double best_of_all_vectors(const ContentionModel& model) {
  const auto contenders = model.contenders();
  double best = 0;
  for (int first = 1; first <= contenders[0].max_residency; ++first) {
    for (int second = 1; second <= contenders[1].max_residency; ++second) {
      const std::vector<int> blocks{first, second};
      if (!can_share_an_sm(model.device(), contenders, blocks)) continue;
      const SpeedEstimate estimate = model.estimate({{.sms = model.device().sms, .blocks = blocks}});
      if (estimate.min_speed_ratio >= 1) best = std::max(best, estimate.throughput);
    }
  }
  return best;
}

Kernel random_kernel(Dice& dice, const Device& device) {
  Kernel kernel{.name = "random", .needs = random_needs(dice, device), .cost = random_cost(dice)};
  if (dice.once_in(2)) kernel.cost.memory = kernel.cost.latency / dice.between(2, 8);
  return kernel;
}

struct RandomContenders {
  RandomContenders(Dice& dice, const Device& device, int count) {
    for (int left = count; left > 0; --left) kernels.push_back(random_kernel(dice, device));
    for (const Kernel& kernel : kernels) contenders.push_back(contender_of(device, kernel));
  }
  std::vector<Kernel> kernels;
  std::vector<Contender> contenders;  // of these
};

TEST(AllocationSearch, FindsTheBestVectorOfTwoKernels) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device();
    const RandomContenders random(dice, device, 2);
    const ContentionModel model(device, random.contenders);
    const double best = best_of_all_vectors(model);
    const AllocationChoice choice = best_vector(model, {});
    ASSERT_EQ(choice.allocation.empty(), best == 0);
    if (best > 0) {
      // Kindness to the slowest may cost 2 % of what it gains.
      EXPECT_GE(choice.estimate.throughput, best - 0.02) << best;
    }
  }
}

TEST(AllocationSearch, NeverDoesWorseThanTheBestVector) {
  for (std::uint64_t seed = 100; seed < 140; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device();
    const RandomContenders random(dice, device, dice.between(2, 5));
    const ContentionModel model(device, random.contenders);
    const AllocationChoice any = best_allocation(model, {});
    const AllocationChoice vector = best_vector(model, {});
    ASSERT_FALSE(any.allocation.empty());
    int sms = 0;
    for (const SmGroup& group : any.allocation) {
      EXPECT_TRUE(can_share_an_sm(device, random.contenders, group.blocks));
      sms += group.sms;
    }
    EXPECT_EQ(sms, device.sms);
    if (!vector.allocation.empty()) {
      EXPECT_GE(any.estimate.throughput, vector.estimate.throughput - 1e-9);
    }
  }
}

TEST(AllocationSearch, AStreamingKernelGetsFewBlocksBesideAnIssuingOne) {
  const Device device = mixing_device();
  const Kernel issues = issuing_kernel();
  const Kernel streams = streaming_kernel();
  const std::vector contenders{contender_of(device, issues), contender_of(device, streams)};
  const AllocationChoice choice = best_allocation(ContentionModel(device, contenders), {});
  EXPECT_GT(choice.estimate.throughput, 1.2);
  EXPECT_GT(choice.estimate.slowest, 0.4);
}

TEST(AllocationSearch, KeepsAMinSpeedWhereItCanAndComesNearItOtherwise) {
  const Device device = mixing_device();
  const Kernel issues = issuing_kernel();
  const Kernel streams = streaming_kernel();
  const auto with_min_speeds = [&](double min_speed) {
    const std::vector contenders{contender_of(device, issues, 1, min_speed),
                                 contender_of(device, streams, 1, min_speed)};
    return best_allocation(ContentionModel(device, contenders), {}).estimate;
  };
  const double most = with_min_speeds(1).slowest;
  EXPECT_GT(most, 0.55);
  EXPECT_LT(most, 1);
  EXPECT_GE(with_min_speeds(0.95 * most).slowest, 0.95 * most);
}

TEST(AllocationSearch, KeepsABoundOfTheMeanSlowdown) {
  const Device device = mixing_device();
  const Kernel issues = issuing_kernel();
  const Kernel streams = streaming_kernel();
  const std::vector contenders{contender_of(device, issues, 5), contender_of(device, streams)};
  const ContentionModel model(device, contenders);
  const SpeedEstimate free = best_allocation(model, {}).estimate;
  const SpeedEstimate bound = best_allocation(model, {.antt = 0.9 * free.antt}).estimate;
  EXPECT_LE(bound.antt, 0.9 * free.antt);
  EXPECT_LT(bound.throughput, free.throughput);
}

TEST(AllocationSearch, ALargerWeightGetsMoreSms) {
  const Device device = mixing_device();
  const Kernel one = issuing_kernel("one");
  const Kernel other = issuing_kernel("other");
  const std::vector contenders{contender_of(device, one, 3, 0.2), contender_of(device, other, 1, 0.2)};
  const SpeedEstimate estimate = best_allocation(ContentionModel(device, contenders), {}).estimate;
  EXPECT_GT(estimate.speeds[0], estimate.speeds[1]);
  EXPECT_GE(estimate.speeds[1], 0.2);
}

TEST(AllocationSearch, KernelsThatDoNotFitHaveNoAllocation) {
  Device device = mixing_device(1);
  Kernel large = issuing_kernel();
  large.needs.threads = 1024;
  large.needs.registers_per_thread = 64;
  const std::vector contenders{contender_of(device, large), contender_of(device, large)};
  EXPECT_TRUE(best_allocation(ContentionModel(device, contenders), {}).allocation.empty());
}

TEST(AllocationSearch, IsDeterministicForEightKernels) {
  const Device device = mixing_device(132);
  Dice dice(3);
  const RandomContenders random(dice, device, 8);
  const ContentionModel model(device, random.contenders);
  const AllocationChoice once = best_allocation(model, {});
  const AllocationChoice again = best_allocation(model, {});
  ASSERT_FALSE(once.allocation.empty());
  EXPECT_EQ(once.estimate.speeds, again.estimate.speeds);
  EXPECT_GT(once.estimate.slowest, 0);
}

/// Random pairs: the choice is an equal partition, or promises more by the factor of its kind.
TEST(ConservativeAllocation, LeavesTheEqualPartitionOnlyForClearlyMore) {
  int other_parts = 0;
  int shared = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device();
    const RandomContenders random(dice, device, 2);
    const ContentionModel model(device, random.contenders);
    const double equal = model.estimate(equal_partition(device, random.contenders)).throughput;
    const AllocationChoice choice = conservative_allocation(model, {});
    if (same_allocation(choice.allocation, equal_partition(device, random.contenders))) continue;
    const bool is_shared = choice.allocation.size() == 1;
    EXPECT_GT(choice.estimate.throughput, (is_shared ? 1.3 : 1.2) * equal);
    ++(is_shared ? shared : other_parts);
  }
  EXPECT_GT(other_parts, 0);
  EXPECT_GT(shared, 0);
}

TEST(ConservativeAllocation, IsTheSameInSmallSteps) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device();
    const RandomContenders random(dice, device, dice.between(2, 4));
    const AllocationChoice at_once = conservative_allocation(ContentionModel(device, random.contenders), {});
    IncrementalSearch search(device, random.contenders, {});
    std::optional<AllocationChoice> choice;
    int thoughts = 0;
    for (; !choice && thoughts < 500; ++thoughts) choice = search.step();
    ASSERT_TRUE(choice);
    EXPECT_GT(thoughts, 1);
    EXPECT_TRUE(same_allocation(choice->allocation, at_once.allocation));
  }
}

}  // namespace
}  // namespace gpushare
