// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/co_run_sets.hpp"

#include <gtest/gtest.h>

#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;

class CoRunSetsOfTwo : public testing::Test {
 protected:
  CoSchedule schedule(const std::vector<Kernel>& kernels) {
    CoSchedule schedule;
    for (const Kernel& kernel : kernels) {
      const auto entry = catalogue_.find(device_, kernel);
      schedule.slots.push_back({.application = static_cast<ApplicationId>(schedule.slots.size()),
                                .kernel = entry,
                                .alone = 1e6,
                                .fills_gpu = true,
                                .contender = contender_of(device_, entry->kernel)});
    }
    return schedule;
  }
  CoSchedule two() { return schedule({issuing_kernel(), streaming_kernel()}); }

  Device device_ = mixing_device();
  KernelCatalogue catalogue_;
  CoRunSetOptions options_{.probes = {.loss = 0.1, .window = Duration(1000)}};
};

TEST_F(CoRunSetsOfTwo, ASetIsFoundAgain) {
  CoRunSets sets(options_);
  CoRunSet& first = sets.find(two(), device_);
  EXPECT_EQ(&sets.find(two(), device_), &first);
}

TEST_F(CoRunSetsOfTwo, WeightsAndMinSpeedsMakeAnotherSet) {
  CoRunSets sets(options_);
  const CoRunSet* plain = &sets.find(two(), device_);
  CoSchedule weighted = two();
  weighted.slots[0].contender.weight = 2;
  EXPECT_NE(&sets.find(weighted, device_), plain);
  CoSchedule promised = two();
  promised.slots[0].contender.min_speed = 0.6;
  EXPECT_NE(&sets.find(promised, device_), plain);
}

TEST_F(CoRunSetsOfTwo, LaunchesThatMayRunSeriallyMakeAnotherSet) {
  options_.longest_serial = 2e6;
  CoRunSets sets(options_);
  CoSchedule longer = two();
  longer.slots[0].alone = 3e6;
  EXPECT_NE(&sets.find(longer, device_), &sets.find(two(), device_));
}

TEST_F(CoRunSetsOfTwo, OneKernelHasTheWholeGpu) {
  CoRunSets sets(options_);
  const SmAllocation& allocation = sets.find(schedule({issuing_kernel()}), device_).tuner.current();
  ASSERT_EQ(allocation.size(), 1U);
  EXPECT_EQ(allocation[0].sms, 8);
  EXPECT_EQ(allocation[0].blocks, std::vector{8});
}

TEST_F(CoRunSetsOfTwo, UnprofiledKernelsShareInProportion) {
  Kernel unknown = issuing_kernel();
  unknown.is_profiled = false;
  CoRunSets sets(options_);
  CoRunSet& set = sets.find(schedule({unknown, streaming_kernel()}), device_);
  EXPECT_TRUE(set.predicted.estimate.speeds.empty());
  EXPECT_EQ(set.predicted.allocation.front().blocks, (std::vector{4, 4}));
}

TEST_F(CoRunSetsOfTwo, DoubtfulPredictionsBeginWithAnEqualPartitionAndASearch) {
  device_.per_sm.issue_order = IssueOrder::OldestFirst;
  CoRunSets sets(options_);
  CoRunSet& set = sets.find(two(), device_);
  EXPECT_TRUE(same_allocation(set.tuner.current(), equal_partition(device_, two().contenders())));
  EXPECT_NE(set.search, nullptr);
  options_.is_conservative = false;
  CoRunSets bold(options_);
  EXPECT_EQ(bold.find(two(), device_).search, nullptr);
}

TEST_F(CoRunSetsOfTwo, NothingIsMeasuredOfAnEmptyAllocation) {
  CoRunSets sets(options_);
  EXPECT_TRUE(sets.tuner_from({}, two()).is_done());
  EXPECT_FALSE(sets.tuner_from(equal_partition(device_, two().contenders()), two()).is_done());
}

}  // namespace
}  // namespace gpushare
