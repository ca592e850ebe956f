// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/fair_allocation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_written_events.hpp"
#include "sample_devices.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

class FairRun : public HandWrittenRun {
 public:
  FairRun(int sms, Workload workload) : HandWrittenRun(small_device(sms), std::move(workload)) {}
  std::vector<int> update() {
    fair_.update(state(), active_);
    std::vector<int> sms;
    for (const SmPart& part : fair_.parts()) sms.push_back(part.sms);
    return sms;
  }

 private:
  void observed(const Event& event) override {
    active_.observe(event, state());
    fair_.observe(event, state());
  }
  ActiveApplications active_{Duration(60)};
  FairAllocation fair_{Duration(1000)};
};

Workload of_weights(const std::vector<double>& weights, std::int64_t blocks = 100'000) {
  Workload workload = workload_of(std::vector<Launch>(weights.size(), launch_of(blocks, 1000)));
  for (std::size_t i = 0; i < weights.size(); ++i) workload.applications[i].weight = weights[i];
  return workload;
}

TEST(FairAllocation, SplitsByWeight) {
  FairRun run(12, of_weights({1, 2, 3}));
  for (int application = 0; application < 3; ++application) run.arrive(application, 0);
  EXPECT_THAT(run.update(), ElementsAre(2, 4, 6));
}

TEST(FairAllocation, GivesNoMoreSmsThanBlocksCanFill) {
  Workload workload = of_weights({1, 1});
  std::get<Launch>(workload.applications[0].operations[0]).blocks = 8;
  FairRun run(12, std::move(workload));
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_THAT(run.update(), ElementsAre(2, 10)) << "four blocks to an SM";
}

TEST(FairAllocation, MakesUpForALag) {
  FairRun run(12, of_weights({6, 6}));
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.update();
  for (int sm = 0; sm < 12; ++sm) run.start_block(0, sm, 0);
  run.reach_deadline(1000);
  EXPECT_THAT(run.update(), ElementsAre(2, 10)) << "a fifth against four fifths: half a part, and twice one";
}

TEST(FairAllocation, KeepsAnAllocationThatDiffersByOneSm) {
  FairRun run(12, of_weights({1, 1}));
  run.arrive(0, 0);
  run.arrive(1, 0);
  ASSERT_THAT(run.update(), ElementsAre(6, 6));
  run.start_block(0, 0, 0);
  run.reach_deadline(100);
  EXPECT_THAT(run.update(), ElementsAre(6, 6));
}

TEST(FairAllocation, ServesTheLeastServedWhereSmsAreFew) {
  FairRun run(2, of_weights({1, 1, 1}));
  for (int application = 0; application < 3; ++application) run.arrive(application, 0);
  run.update();
  run.start_block(0, 0, 0);
  run.start_block(1, 1, 500);
  run.reach_deadline(1000);
  run.update();
  run.end_block(0, 0, 0, 1000);
  EXPECT_EQ(run.update().size(), 2U);
}

TEST(FairAllocation, AnOwnerHasOneShareForAllItsApplications) {
  Workload workload = of_weights({1, 1, 1});
  for (Application& each : workload.applications) each.owner = "many";
  workload.applications[0].owner = "one";
  FairRun run(12, std::move(workload));
  for (int application = 0; application < 3; ++application) run.arrive(application, 0);
  EXPECT_THAT(run.update(), ElementsAre(6, 3, 3));
}

}  // namespace
}  // namespace gpushare
