// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/tuning/search.hpp"
#include "sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;

struct Company {
  Company(Dice& dice, const Device& device, int count) {
    for (int left = count; left > 0; --left) {
      kernels.push_back({.name = "random", .needs = random_needs(dice, device), .cost = random_cost(dice)});
    }
    for (const Kernel& kernel : kernels) contenders.push_back(contender_of(device, kernel));
  }
  Outlook of(const Device& device, const Division& division) const { return Forecast(device, contenders).of(division); }

  std::vector<Kernel> kernels;
  std::vector<Contender> contenders;  // of these
};

/// All vectors of two kernels, and all ways to give each of them SMs of its own.
std::vector<Division> every_division(const Device& device, const std::vector<Contender>& contenders) {
  std::vector<Division> found;
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

/// Whoever has floors that some division keeps gets one that does, and which does about the most of those. The division
/// keeps them with 5 % to spare: of kernels with many blocks per SM only every other vector is tried.
TEST(Floors, AreKeptWheneverADivisionKeepsThem) {
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device();
    Company company(dice, device, 2);
    const std::vector<Division> divisions = every_division(device, company.contenders);
    const auto place = static_cast<std::size_t>(dice.between(0, static_cast<int>(divisions.size()) - 1));
    const Outlook kept_by_one = company.of(device, divisions[place]);
    if (kept_by_one.slowest < 0.01) continue;
    for (std::size_t i = 0; i < 2; ++i) company.contenders[i].floor = 0.95 * kept_by_one.speeds[i];
    double most = 0;
    for (const Division& each : divisions) {
      const Outlook outlook = company.of(device, each);
      if (outlook.kept >= 1) most = std::max(most, outlook.throughput);
    }
    const Outlook chosen = best_division(Forecast(device, company.contenders), {}).outlook;
    EXPECT_GE(chosen.kept, 1);
    EXPECT_GE(chosen.throughput, 0.97 * most);
    ++tried;
  }
  EXPECT_GT(tried, 200);
}

/// The cautious keep floors that equal parts break.
TEST(Floors, MoveTheCautiousAwayFromEqualParts) {
  int broken_by_equal_parts = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = mixing_device(16);
    Company company(dice, device, dice.between(2, 4));
    const Division equal = equal_parts(device, company.contenders);
    Division parts = equal;
    for (int moved = dice.between(1, 3); moved > 0; --moved) {
      --parts[0].sms;
      ++parts[1].sms;
    }
    const Outlook kept_by_one = company.of(device, parts);
    for (std::size_t i = 0; i < company.contenders.size(); ++i) {
      company.contenders[i].floor = 0.99 * kept_by_one.speeds[i];
    }
    broken_by_equal_parts += company.of(device, equal).kept < 1;
    EXPECT_GE(cautious_division(Forecast(device, company.contenders), {}).outlook.kept, 1);
  }
  EXPECT_GT(broken_by_equal_parts, 50) << "where equal parts keep the floors nothing has to be found";
}

TEST(Floors, AreMissedByTheSameShareWhereTheyAskForTooMuch) {
  const Device device = mixing_device(132);
  const Kernel one = issuing_kernel("one");
  const Kernel other = issuing_kernel("other");
  const Kernel third = issuing_kernel("third");
  const std::vector contenders{contender_of(device, one, 1, 0.8), contender_of(device, other, 9, 0.4),
                               contender_of(device, third, 1, 0.4)};
  const Outlook outlook = best_division(Forecast(device, contenders), {}).outlook;
  EXPECT_LT(outlook.kept, 1);
  EXPECT_NEAR(outlook.speeds[0] / 0.8, outlook.kept, 0.05);
  EXPECT_NEAR(outlook.speeds[1] / 0.4, outlook.kept, 0.05);
  EXPECT_NEAR(outlook.speeds[2] / 0.4, outlook.kept, 0.05);
}

TEST(Floors, EachApplicationIsJudgedByItsOwnFloor) {
  const Kernel kernel = issuing_kernel();
  const Device device = mixing_device();
  const std::vector contenders{contender_of(device, kernel, 1, 0.6), contender_of(device, kernel, 1, 0.2)};
  EXPECT_TRUE(outlook_of({0.6, 0.2}, contenders).keeps({}));
  EXPECT_FALSE(outlook_of({0.5, 0.5}, contenders).keeps({}));
  EXPECT_FALSE(outlook_of({0.8, 0.1}, contenders).keeps({}));
  EXPECT_NEAR(outlook_of({0.5, 0.1}, contenders).kept, 0.5, 1e-12);
}

}  // namespace
}  // namespace gpushare
