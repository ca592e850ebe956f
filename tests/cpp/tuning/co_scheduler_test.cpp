// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/co_scheduler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_written_events.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

/// Large launches on eight SMs.
class CoScheduledRun : public HandWrittenRun {
 public:
  explicit CoScheduledRun(std::size_t launches, const Device& device = mixing_device())
      : HandWrittenRun(
            device, workload_of(std::vector<Launch>(launches, Launch{.kernel = issuing_kernel(), .blocks = 4000}))) {}
  std::vector<int> planned() const {
    std::vector<int> launches;
    for (const Share& share : scheduler.plan(state()).shares) launches.push_back(static_cast<int>(share.launch));
    return launches;
  }
  bool wants(EventKind kind) const { return scheduler.wants({.kind = kind}); }

  CoScheduler scheduler{CoScheduleOptions::from(PolicyOptions("mix:patience_ns=60_000"))};

 private:
  void observed(const Event& event) override { scheduler.observe(event, state()); }
};

TEST(CoScheduler, PlansAllRunningLaunchesAndWakesUpWhenAPredictionExpires) {
  CoScheduledRun run(2);
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_THAT(run.planned(), ElementsAre(0, 1));
  EXPECT_FALSE(run.scheduler.plan(run.state()).wake_at);
  run.end_launch(0, 10'000);
  EXPECT_THAT(run.planned(), ElementsAre(1));
  EXPECT_EQ(run.scheduler.plan(run.state()).wake_at, Time(Duration(70'000)));
}

TEST(CoScheduler, ASlotIsKeptForAPredictedArrival) {
  CoScheduledRun run(2);
  run.arrive(0, 0);
  run.arrive(1, 0);
  const Quota beside_another = run.scheduler.plan(run.state()).shares[1].quota;
  run.end_launch(0, 10'000);
  EXPECT_EQ(run.scheduler.plan(run.state()).shares[0].quota, beside_another);
  run.reach_deadline(70'000);
  EXPECT_EQ(run.scheduler.plan(run.state()).shares[0].quota, Quota::everywhere(8));
}

TEST(CoScheduler, WantsAPlanOnlyForEventsThatMayChangeTheSchedule) {
  CoScheduledRun run(1);
  run.arrive(0, 0);
  EXPECT_TRUE(run.wants(EventKind::LaunchArrived));
  run.start_block(0, 0, 10);
  EXPECT_TRUE(run.scheduler.is_affected());
  EXPECT_FALSE(run.wants(EventKind::BlockStarted));
}

TEST(CoScheduler, ExcludedLaunchesDoNotAffectIt) {
  CoScheduledRun run(2);
  run.arrive(0, 0);
  run.scheduler.exclude(OperationId{1});
  run.arrive(1, 10);
  EXPECT_FALSE(run.scheduler.is_affected());
  EXPECT_FALSE(run.wants(EventKind::LaunchArrived));
  EXPECT_THAT(run.planned(), ElementsAre(0));
}

TEST(CoScheduler, LaunchesThatDoNotFitSideBySideAreQueued) {
  Device device = mixing_device(1);
  device.per_sm.blocks = 1;
  CoScheduledRun run(2, device);
  run.arrive(0, 0);
  run.arrive(1, 10);
  EXPECT_THAT(run.scheduler.schedule().queued, ElementsAre(OperationId{1}));
  EXPECT_THAT(run.planned(), ElementsAre(0, 1)) << "behind the slots";
}

TEST(CoScheduler, SerialExecutionIsTakenAtOnceWhereItIsExpectedToBeBetter) {
  CoScheduledRun run(2);
  run.arrive(0, 0);
  run.arrive(1, 0);
  EXPECT_FALSE(run.scheduler.is_serial());
  run.scheduler.suggest_serial_execution(run.state().device(), true, run.state().now());
  EXPECT_TRUE(run.scheduler.is_serial());
}

TEST(CoScheduler, SerialExecutionIsOnlySuggestedWhereItIsNotExpectedToBeBetter) {
  CoScheduledRun run(2);
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.scheduler.suggest_serial_execution(run.state().device(), false, run.state().now());
  EXPECT_FALSE(run.scheduler.is_serial());
}

TEST(CoScheduleOptions, AreReadFromThePolicysOptions) {
  const auto options =
      CoScheduleOptions::from(PolicyOptions("mix:min_speed=0.3:antt=1.8:patience_ns=7000:equal_start=no"));
  EXPECT_EQ(options.classifier.min_speed, 0.3);
  EXPECT_EQ(options.sets.bounds.antt, 1.8);
  EXPECT_EQ(options.patience, Duration(7'000));
  EXPECT_FALSE(options.sets.is_conservative);
  EXPECT_FALSE(CoScheduleOptions::from(PolicyOptions("mix")).classifier.min_speed);
}

}  // namespace
}  // namespace gpushare
