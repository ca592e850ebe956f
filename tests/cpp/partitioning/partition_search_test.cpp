// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/partition_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace gpushare {
namespace {

using testing::ElementsAre;
using Parts = std::vector<int>;
using Speeds = std::function<std::vector<double>(const Parts&)>;

constexpr std::optional<BoundBy> memory = BoundBy::Memory, compute = BoundBy::Compute, unknown = std::nullopt;

/// Every part that is measured, until the search has ended.
std::vector<Parts> course(PartitionSearch& search, const Speeds& speeds) {
  std::vector<Parts> measured;
  while (!search.finished()) {
    measured.push_back(search.parts());
    const std::vector<double> now = speeds(search.parts());
    search.measured(Rates(now.begin(), now.end()));
    if (measured.size() > 200) throw std::logic_error("it does not end");
  }
  return measured;
}

/// The first saturates on five SMs, the second is in proportion to them.
std::vector<double> of_both_kinds(const Parts& parts) { return {std::min(parts[0], 5) * 1.0, parts[1] * 3.0}; }

/// Ten units of bandwidth for as many as ask, in proportion to the SMs.
std::vector<double> of_one_memory(const Parts& parts) {
  const double all = parts[0] + parts[1];
  return {parts[0] * std::min(1.0, 6 / all), parts[1] * std::min(1.0, 6 / all)};
}

std::vector<double> in_proportion(const Parts& parts) { return {parts[0] * 1.0, parts[1] * 7.0}; }

TEST(PartitionSearch, WithProfilesOnlyTheMemoryBoundGivesUpSms) {
  PartitionSearch search({memory, compute}, 24, {});
  EXPECT_THAT(course(search, of_both_kinds),
              ElementsAre(Parts{12, 12}, Parts{10, 12}, Parts{8, 12}, Parts{6, 12}, Parts{4, 12}));
  EXPECT_EQ(search.parts(), (Parts{6, 18}));
}

TEST(PartitionSearch, WithoutProfilesEveryApplicationIsTestedOnce) {
  PartitionSearch search({unknown, unknown}, 24, {});
  EXPECT_THAT(course(search, of_both_kinds),
              ElementsAre(Parts{12, 12}, Parts{8, 12}, Parts{12, 8}, Parts{6, 12}, Parts{4, 12}));
  EXPECT_EQ(search.parts(), (Parts{6, 18}));  // as with profiles: section 4.2 stalls two at a time
  EXPECT_THAT(search.intensities(), ElementsAre(memory, compute));
}

TEST(PartitionSearch, TwoThatCompeteForTheMemoryAreBothMemoryBound) {
  PartitionSearch search({unknown, unknown}, 24, {});
  course(search, of_one_memory);
  EXPECT_THAT(search.intensities(), ElementsAre(memory, memory));
  EXPECT_EQ(search.parts(), (Parts{3, 3}));  // the rest is idle
}

TEST(PartitionSearch, ComputeBoundOnesShareEvenly) {
  PartitionSearch search({unknown, unknown}, 24, {});
  course(search, in_proportion);
  EXPECT_THAT(search.intensities(), ElementsAre(compute, compute));
  EXPECT_EQ(search.parts(), (Parts{12, 12}));
  EXPECT_TRUE(PartitionSearch({compute, compute}, 24, {}).finished());
}

TEST(PartitionSearch, PerformanceModeLeavesNothingIdle) {
  PartitionSearch search({memory, memory}, 24, {.mode = SearchMode::Performance});
  course(search, of_one_memory);
  EXPECT_EQ(search.parts(), (Parts{12, 12}));
}

TEST(PartitionSearch, PowerModeGivesNothingToTheComputeBound) {
  PartitionSearch search({memory, compute}, 24, {.mode = SearchMode::Power});
  course(search, of_both_kinds);
  EXPECT_EQ(search.parts(), (Parts{5, 12}));
}

TEST(PartitionSearch, FourApplicationsFirstTheNeedsThenEvenPartsOfTheRest) {
  const Speeds speeds = [](const Parts& parts) {
    return std::vector<double>{std::min(parts[0], 2) * 1.0, parts[1] * 1.0, std::min(parts[2], 4) * 1.0,
                               parts[3] * 1.0};
  };
  PartitionSearch search({unknown, unknown, unknown, unknown}, 24, {});
  course(search, speeds);
  EXPECT_THAT(search.intensities(), ElementsAre(memory, compute, memory, compute));
  EXPECT_EQ(search.parts(), (Parts{2, 9, 4, 9}));
}

TEST(PartitionSearch, AnApplicationSlowedDuringItsTestGivesUpSmsWithTheOthers) {
  // Three compete for what six SMs of them could use; by itself, each loses when it alone gives up SMs.
  const Speeds speeds = [](const Parts& parts) {
    const double share = std::min(1.0, 6.0 / (parts[0] + parts[1] + parts[2]));
    return std::vector<double>{parts[0] * share, parts[1] * share, parts[2] * share, parts[3] * 1.0};
  };
  PartitionSearch search({unknown, unknown, unknown, unknown}, 24, {});
  course(search, speeds);
  EXPECT_EQ(search.parts(), (Parts{2, 2, 2, 18}));
}

TEST(PartitionSearch, AnUnmeasurableApplicationCountsAsComputeBound) {
  PartitionSearch search({unknown, unknown}, 24, {});
  search.measured({5.0, std::nullopt});
  EXPECT_EQ(search.intensities()[1], compute);
  EXPECT_EQ(search.parts(), (Parts{8, 12}));
  EXPECT_FALSE(search.needs_rate(1));
}

TEST(PartitionSearch, AnApplicationUnmeasurableInItsTestCountsAsComputeBound) {
  PartitionSearch search({unknown, unknown}, 24, {});
  search.measured({5.0, 30.0});
  search.measured({5.0, 30.0});
  ASSERT_EQ(search.parts(), (Parts{12, 8}));
  search.measured({5.0, std::nullopt});  // the other one loses nothing, which says nothing of this one
  EXPECT_THAT(search.intensities(), ElementsAre(memory, compute));
}

TEST(PartitionSearch, NoSearchWithoutAChoice) {
  EXPECT_TRUE(PartitionSearch({}, 24, {}).finished());
  EXPECT_TRUE(PartitionSearch({unknown}, 24, {}).finished());
  EXPECT_TRUE(PartitionSearch({unknown, unknown, unknown}, 5, {}).finished());
}

}  // namespace
}  // namespace gpushare
