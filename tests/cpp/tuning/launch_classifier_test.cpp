// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/launch_classifier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/residency.hpp"
#include "hand_written_events.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

Launch launch_with(Kernel kernel, std::int64_t blocks) { return {.kernel = std::move(kernel), .blocks = blocks}; }

/// Launches of eight SMs' kernels, and the schedule of those that run.
class ClassifiedRun : public HandWrittenRun {
 public:
  explicit ClassifiedRun(Workload workload) : HandWrittenRun(mixing_device(), std::move(workload)) {}
  CoSchedule schedule(std::optional<int> excluded = {}) {
    const LaunchClassifier classifier(state(), active_, catalogue_, options);
    return classifier.classify([=](OperationId launch) { return excluded && launch == OperationId{*excluded}; });
  }
  std::vector<int> in_slots() {
    std::vector<int> applications;
    for (const CoRunSlot& slot : schedule().slots) applications.push_back(static_cast<int>(slot.application));
    return applications;
  }

  ClassifierOptions options{.small = Duration(30'000)};

 private:
  void observed(const Event& event) override { active_.observe(event, state()); }
  ActiveApplications active_{Duration(60'000)};
  KernelCatalogue catalogue_;
};

/// Large enough to be worth a slot.
Workload large_launches(std::size_t count) {
  return workload_of(std::vector<Launch>(count, launch_with(issuing_kernel(), 4000)));
}

TEST(LaunchClassifier, LargeLaunchesRunSideBySideByApplication) {
  ClassifiedRun run(large_launches(3));
  for (const int application : {2, 0, 1}) run.arrive(application, 0);
  EXPECT_THAT(run.in_slots(), ElementsAre(0, 1, 2));
  EXPECT_THAT(run.schedule().first, IsEmpty());
}

TEST(LaunchClassifier, UrgentLaunchesGoFirstByPriority) {
  Workload workload = large_launches(3);
  workload.applications[1].priority = 1;
  workload.applications[2].priority = 2;
  ClassifiedRun run(std::move(workload));
  for (int application = 0; application < 3; ++application) run.arrive(application, 0);
  EXPECT_THAT(run.schedule().first, ElementsAre(OperationId{2}, OperationId{1}));
  EXPECT_THAT(run.in_slots(), ElementsAre(0));
}

TEST(LaunchClassifier, SmallLaunchesGoFirst) {
  ClassifiedRun run(workload_of({launch_with(issuing_kernel(), 4)}));
  run.arrive(0, 0);
  EXPECT_THAT(run.schedule().first, ElementsAre(OperationId{0}));
  run.options.small = Duration::zero();
  EXPECT_THAT(run.in_slots(), ElementsAre(0));
}

TEST(LaunchClassifier, UnprofiledLaunchesAreSmallByTheirBlocks) {
  Kernel unknown = issuing_kernel();
  unknown.is_profiled = false;
  ClassifiedRun run(workload_of({launch_with(unknown, 2), launch_with(unknown, 3)}));
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_THAT(run.schedule().first, ElementsAre(OperationId{0})) << "two blocks on eight SMs";
  EXPECT_THAT(run.in_slots(), ElementsAre(1));
}

TEST(LaunchClassifier, LaunchesThatLeaveLittleOfTheGpuIdleFillIt) {
  const Device device = mixing_device();
  const int room = max_residency(device, issuing_kernel().needs) * device.sms;
  ClassifiedRun run(workload_of({launch_with(issuing_kernel(), room - room / 8),
                                 launch_with(issuing_kernel(), room / 2), launch_with(issuing_kernel(), room)}));
  run.options.small = Duration::zero();
  for (const int application : {0, 1, 2}) run.arrive(application, 0);
  std::vector<bool> fill;
  for (const CoRunSlot& slot : run.schedule().slots) fill.push_back(slot.fills_gpu);
  EXPECT_THAT(fill, ElementsAre(true, false, true));
}

TEST(LaunchClassifier, LaunchesBeyondTheSlotsAreQueued) {
  ClassifiedRun run(large_launches(10));
  for (int application = 0; application < 10; ++application) run.arrive(application, application);
  EXPECT_EQ(run.schedule().slots.size(), 8U);
  EXPECT_THAT(run.schedule().queued, ElementsAre(OperationId{8}, OperationId{9}));
}

TEST(LaunchClassifier, ExcludedLaunchesAreLeftOut) {
  ClassifiedRun run(large_launches(2));
  run.arrive(0, 0);
  run.arrive(1, 0);
  ASSERT_EQ(run.schedule(1).slots.size(), 1U);
  EXPECT_EQ(run.schedule(1).slots[0].running, OperationId{0});
}

TEST(LaunchClassifier, APredictedArrivalKeepsItsSlot) {
  ClassifiedRun run(large_launches(2));
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.end_launch(0, 1000);
  const CoSchedule schedule = run.schedule();
  ASSERT_EQ(schedule.slots.size(), 2U);
  EXPECT_FALSE(schedule.slots[0].running);
  EXPECT_TRUE(schedule.slots[1].running);
}

TEST(LaunchClassifier, ALaunchThatCannotKeepItsLatencyBoundSideBySideGoesFirst) {
  Workload workload = large_launches(2);
  workload.applications[0].latency = Duration(1'000);
  workload.applications[1].latency = Duration(1'000'000'000);
  ClassifiedRun run(std::move(workload));
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_THAT(run.schedule().first, ElementsAre(OperationId{0}));
  EXPECT_THAT(run.in_slots(), ElementsAre(1));
}

TEST(LaunchClassifier, WeightsAreThoseAmongOwners) {
  Workload workload = large_launches(3);
  for (Application& each : workload.applications) each.owner = "many";
  workload.applications[0].owner = "one";
  ClassifiedRun run(std::move(workload));
  for (int application = 0; application < 3; ++application) run.arrive(application, 0);
  const CoSchedule schedule = run.schedule();
  EXPECT_DOUBLE_EQ(schedule.slots[0].contender.weight, 2 * schedule.slots[1].contender.weight);
}

TEST(CoRunSlot, LeastSpeedComesFromMinSpeedAndLatencyBound) {
  CoRunSlot slot{.alone = 300};
  EXPECT_FALSE(slot.least_speed());
  slot.min_speed = 0.2;
  EXPECT_DOUBLE_EQ(*slot.least_speed(), 0.2 * 1.03);
  slot.time_for_work = 1000;
  EXPECT_NEAR(*slot.least_speed(), 0.3 * 1.03, 0.05 * 1.03 + 1e-9) << "rounded up to steps of 1/20";
  EXPECT_GE(*slot.least_speed(), 0.3 * 1.03);
  slot.time_for_work = 310;
  EXPECT_EQ(*slot.least_speed(), 1);
}

CoSchedule filling(std::vector<double> alone) {
  CoSchedule schedule;
  for (const double each : alone) schedule.slots.push_back({.alone = each, .fills_gpu = true});
  return schedule;
}

TEST(CoSchedule, RunsSeriallyOnlyWhereEveryLaunchFillsTheGpu) {
  CoSchedule schedule = filling({100, 200});
  EXPECT_TRUE(can_run_serially(schedule));
  schedule.slots[1].fills_gpu = false;
  EXPECT_FALSE(can_run_serially(schedule));
}

TEST(CoSchedule, MinSpeedsAndShortLatencyBoundsExcludeSerialExecution) {
  CoSchedule schedule = filling({100, 200});
  schedule.slots[0].min_speed = 0.1;
  EXPECT_FALSE(can_run_serially(schedule));
  schedule.slots[0].min_speed.reset();
  schedule.slots[0].time_for_work = 300;
  EXPECT_TRUE(can_run_serially(schedule)) << "one launch of each takes 300";
  schedule.slots[0].time_for_work = 299;
  EXPECT_FALSE(can_run_serially(schedule));
}

TEST(CoSchedule, UnknownTimesAreNotShort) {
  EXPECT_TRUE(are_short(filling({100, 200}), 200));
  EXPECT_FALSE(are_short(filling({100, 201}), 200));
  EXPECT_FALSE(are_short(filling({100, 0}), 200));
}

}  // namespace
}  // namespace gpushare
