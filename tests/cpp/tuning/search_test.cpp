// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/tuning/cautious_search.hpp"
#include "sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;

/// The greatest throughput of all vectors, tried one by one.
double best_of_all_vectors(const Forecast& forecast) {
  const auto contenders = forecast.contenders();
  double best = 0;
  for (int first = 1; first <= contenders[0].max_residency; ++first) {
    for (int second = 1; second <= contenders[1].max_residency; ++second) {
      const std::vector<int> blocks{first, second};
      if (!can_share_an_sm(forecast.device(), contenders, blocks)) continue;
      const Outlook outlook = forecast.of({{.sms = forecast.device().sms, .blocks = blocks}});
      if (outlook.kept >= 1) best = std::max(best, outlook.throughput);
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

TEST(MixSearch, FindsTheBestVectorOfTwoKernels) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device();
    const RandomContenders random(dice, device, 2);
    const Forecast forecast(device, random.contenders);
    const double best = best_of_all_vectors(forecast);
    const Choice choice = best_vector(forecast, {});
    ASSERT_EQ(choice.division.empty(), best == 0);
    if (best > 0) {
      // Kindness to the slowest may cost 2 % of what it gains.
      EXPECT_GE(choice.outlook.throughput, best - 0.02) << best;
    }
  }
}

TEST(MixSearch, NeverDoesWorseThanTheBestVector) {
  for (std::uint64_t seed = 100; seed < 140; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device();
    const RandomContenders random(dice, device, dice.between(2, 5));
    const Forecast forecast(device, random.contenders);
    const Choice any = best_division(forecast, {});
    const Choice vector = best_vector(forecast, {});
    ASSERT_FALSE(any.division.empty());
    int sms = 0;
    for (const SmGroup& group : any.division) {
      EXPECT_TRUE(can_share_an_sm(device, random.contenders, group.blocks));
      sms += group.sms;
    }
    EXPECT_EQ(sms, device.sms);
    if (!vector.division.empty()) {
      EXPECT_GE(any.outlook.throughput, vector.outlook.throughput - 1e-9);
    }
  }
}

TEST(MixSearch, AStreamingKernelGetsFewBlocksBesideAnIssuingOne) {
  const Device device = mixing_device();
  const Kernel issues = issuing_kernel();
  const Kernel streams = streaming_kernel();
  const std::vector contenders{contender_of(device, issues), contender_of(device, streams)};
  const Choice choice = best_division(Forecast(device, contenders), {});
  EXPECT_GT(choice.outlook.throughput, 1.2);
  EXPECT_GT(choice.outlook.slowest, 0.4);
}

TEST(MixSearch, KeepsAFloorWhereItCanAndComesNearItWhereItCannot) {
  const Device device = mixing_device();
  const Kernel issues = issuing_kernel();
  const Kernel streams = streaming_kernel();
  const auto with_floors = [&](double floor) {
    const std::vector contenders{contender_of(device, issues, 1, floor), contender_of(device, streams, 1, floor)};
    return best_division(Forecast(device, contenders), {}).outlook;
  };
  const double most = with_floors(1).slowest;
  EXPECT_GT(most, 0.55);
  EXPECT_LT(most, 1);
  EXPECT_GE(with_floors(0.95 * most).slowest, 0.95 * most);
}

TEST(MixSearch, KeepsABoundOfTheMeanSlowdown) {
  const Device device = mixing_device();
  const Kernel issues = issuing_kernel();
  const Kernel streams = streaming_kernel();
  const std::vector contenders{contender_of(device, issues, 5), contender_of(device, streams)};
  const Forecast forecast(device, contenders);
  const Outlook free = best_division(forecast, {}).outlook;
  const Outlook bound = best_division(forecast, {.antt = 0.9 * free.antt}).outlook;
  EXPECT_LE(bound.antt, 0.9 * free.antt);
  EXPECT_LT(bound.throughput, free.throughput);
}

TEST(MixSearch, AWeightMovesTheRoom) {
  const Device device = mixing_device();
  const Kernel one = issuing_kernel("one");
  const Kernel other = issuing_kernel("other");
  const std::vector contenders{contender_of(device, one, 3, 0.2), contender_of(device, other, 1, 0.2)};
  const Outlook outlook = best_division(Forecast(device, contenders), {}).outlook;
  EXPECT_GT(outlook.speeds[0], outlook.speeds[1]);
  EXPECT_GE(outlook.speeds[1], 0.2);
}

TEST(MixSearch, AsManyAsCannotRunTogetherHaveNoDivision) {
  Device device = mixing_device(1);
  Kernel large = issuing_kernel();
  large.needs.threads = 1024;
  large.needs.registers_per_thread = 64;
  const std::vector contenders{contender_of(device, large), contender_of(device, large)};
  EXPECT_TRUE(best_division(Forecast(device, contenders), {}).division.empty());
}

TEST(MixSearch, EightKernelsAreDividedTheSameWayEveryTime) {
  const Device device = mixing_device(132);
  Dice dice(3);
  const RandomContenders random(dice, device, 8);
  const Forecast forecast(device, random.contenders);
  const Choice once = best_division(forecast, {});
  const Choice again = best_division(forecast, {});
  ASSERT_FALSE(once.division.empty());
  EXPECT_EQ(once.outlook.speeds, again.outlook.speeds);
  EXPECT_GT(once.outlook.slowest, 0);
}

/// Random pairs; whatever the cautious choose is equal parts or promises more by the factor of its kind.
TEST(CautiousDivision, LeavesEqualPartsOnlyForClearlyMore) {
  int other_parts = 0;
  int shared = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device();
    const RandomContenders random(dice, device, 2);
    const Forecast forecast(device, random.contenders);
    const double equal = forecast.of(equal_parts(device, random.contenders)).throughput;
    const Choice choice = cautious_division(forecast, {});
    if (same_division(choice.division, equal_parts(device, random.contenders))) continue;
    const bool is_shared = choice.division.size() == 1;
    EXPECT_GT(choice.outlook.throughput, (is_shared ? 1.3 : 1.2) * equal);
    ++(is_shared ? shared : other_parts);
  }
  EXPECT_GT(other_parts, 0);
  EXPECT_GT(shared, 0);
}

TEST(CautiousDivision, ComesToTheSameAFewQuestionsAtATime) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device();
    const RandomContenders random(dice, device, dice.between(2, 4));
    const Choice at_once = cautious_division(Forecast(device, random.contenders), {});
    CautiousSearch search(device, random.contenders, {});
    std::optional<Choice> choice;
    int thoughts = 0;
    for (; !choice && thoughts < 500; ++thoughts) choice = search.think();
    ASSERT_TRUE(choice);
    EXPECT_GT(thoughts, 1);
    EXPECT_TRUE(same_division(choice->division, at_once.division));
  }
}

TEST(Forecast, RemembersAnswersAndRefusesWhatIsNotAllowed) {
  const Device device = mixing_device();
  const Kernel one = issuing_kernel();
  const Kernel other = streaming_kernel();
  const std::vector contenders{contender_of(device, one), contender_of(device, other)};
  Forecast forecast(device, contenders);
  const Division first{{.sms = 8, .blocks = {1, 1}}};
  const Division second{{.sms = 8, .blocks = {2, 2}}};
  forecast.allow(1);
  ASSERT_NE(forecast.ask(first), nullptr);
  EXPECT_EQ(forecast.ask(first)->throughput, forecast.of(first).throughput);
  EXPECT_FALSE(forecast.has_refused());
  EXPECT_EQ(forecast.ask(second), nullptr);
  EXPECT_TRUE(forecast.has_refused());
  forecast.allow(1);
  EXPECT_FALSE(forecast.has_refused());
  EXPECT_NE(forecast.ask(second), nullptr);
}

}  // namespace
}  // namespace gpushare
