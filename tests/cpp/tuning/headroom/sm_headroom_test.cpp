// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/policy_support/options.hpp"
#include "core/tuning/headroom/sm_headroom.hpp"
#include "hand_written_events.hpp"
#include "recorded_run.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::Each;
using testing::ElementsAre;

/// One that always runs, and two urgent ones of three blocks.
PolicyRehearsal urgent_beside_one(std::string_view policy, int blocks = 3) {
  Workload workload = workload_of({launch_of(100'000, 1000), launch_of(blocks, 1000), launch_of(blocks, 1000)});
  workload.applications[1].priority = workload.applications[2].priority = 1;
  PolicyRehearsal run(policy, small_device(10), std::move(workload));
  run.arrive(0, 0);
  return run;
}

TEST(SmHeadroom, NothingIsReservedBeforeTheFirstUrgentLaunch) {
  EXPECT_THAT(urgent_beside_one("auto").quotas(0), Each(4));
}

TEST(SmHeadroom, ReservesForTwoLaunchesAsFarAsTheShareAllows) {
  PolicyRehearsal run = urgent_beside_one("auto:reserve_share=0.4");
  run.arrive(1, 10'000);
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4, 4, 4, 4, 0, 0, 0, 0));
  EXPECT_THAT(run.quotas(1), Each(4));
  EXPECT_EQ(run.order().front(), 1);
  run.end_launch(1, 20'000);
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4, 4, 4, 4, 0, 0, 0, 0));
}

class HeadroomRehearsal : public HandWrittenRun {
 public:
  using HandWrittenRun::HandWrittenRun;
  SmHeadroom headroom{{.share = 0.2, .patience = Duration(1'000'000)}};

 private:
  void observed(const Event& event) override { headroom.observe(event, state()); }
};

TEST(SmHeadroom, TakesTheSamePartOfEveryPartition) {
  Workload workload = workload_of({launch_of(1000, 1000), launch_of(1000, 1000), launch_of(4, 1000)});
  workload.applications[2].priority = 1;
  HeadroomRehearsal run(small_device(10), std::move(workload));
  for (int launch = 0; launch < 3; ++launch) run.arrive(launch, 0);
  const Plan plan = run.headroom.applied_to(
      {.shares = {{.launch = OperationId{0}, .quota = Quota::per_sm({4, 4, 4, 4, 4, 0, 0, 0, 0, 0})},
                  {.launch = OperationId{1}, .quota = Quota::per_sm({0, 0, 0, 0, 0, 4, 4, 4, 4, 4})}}},
      run.state());
  EXPECT_EQ(plan.shares[0].quota, Quota::per_sm({4, 4, 4, 4, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(plan.shares[1].quota, Quota::per_sm({0, 0, 0, 0, 4, 4, 4, 4, 0, 0}));
}

TEST(SmHeadroom, ALargeReservationEndsThoughSmallLaunchesCome) {
  std::vector<Launch> launches{launch_of(10'000, 1000), launch_of(3, 1000)};
  for (int small = 0; small < 5; ++small) launches.push_back(launch_of(1, 1000));
  Workload workload = workload_of(launches);
  for (std::size_t urgent = 1; urgent < launches.size(); ++urgent) workload.applications[urgent].priority = 1;
  HeadroomRehearsal run(small_device(30), std::move(workload));
  const auto kept = [&run] {
    const Plan all{.shares = {full_share(run.running(0))}};
    const Quota left = run.headroom.applied_to(all, run.state()).shares[0].quota;
    int kept = 0;
    for (int sm = 0; sm < 30; ++sm) kept += left.at(static_cast<SmId>(sm)) == 0 ? 1 : 0;
    return kept;
  };
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.end_launch(1, 10'000);
  EXPECT_EQ(kept(), 6);
  for (int small = 0; small < 5; ++small) {
    run.arrive(2 + small, 500'000 * (small + 1));
    run.end_launch(2 + small, 500'000 * (small + 1) + 10'000);
    EXPECT_EQ(kept(), small < 3 ? 6 : 2) << small;
  }
}

TEST(SmHeadroom, ExpiresWithoutUrgentLaunches) {
  PolicyRehearsal run = urgent_beside_one("auto:reserve_share=0.4:reserve_ns=200_000:patience_ns=0");
  run.arrive(1, 10'000);
  run.end_launch(1, 20'000);
  ASSERT_TRUE(run.plan().wake_at);
  EXPECT_EQ(ns(*run.plan().wake_at), 210'000);
}

TEST(SmHeadroom, ALaunchThatFitsIsAdmittedWithoutAPlan) {
  PolicyRehearsal run = urgent_beside_one("auto:reserve_share=0.4");
  run.arrive(1, 10'000);
  run.end_launch(1, 20'000);
  const int plans = run.plans();
  run.arrive(2, 30'000);
  run.start_group(2, 9, 3, 31'000);
  run.end_group(2, 9, 3, 31'000, 32'000);
  run.end_launch(2, 32'000);
  run.end_application(2, 32'000);
  EXPECT_THAT(run.admitted(), ElementsAre(2));
  EXPECT_EQ(run.plans(), plans);
}

// The first launch was planned for, ended when nobody else was there, and is not to be named again. Others may then be
// left whole, since the most urgent application has been gone for a while.
TEST(SmHeadroom, APlanNamesNoLaunchThatHasEnded) {
  Workload workload = workload_of(std::vector<Launch>(3, launch_of(3, 1000)));
  workload.applications[0].priority = workload.applications[2].priority = 1;
  workload.applications[1].priority = 2;
  PolicyRehearsal run("auto:reserve_share=0.4", small_device(10), std::move(workload));
  run.arrive(0, 0);
  run.end_launch(0, 1000);
  run.arrive(1, 2000);
  run.end_launch(1, 3000);
  run.arrive(2, 4000);
  EXPECT_THAT(run.admitted(), ElementsAre(1, 2));
  const int plans = run.plans();
  run.end_application(1, 4500);
  run.reach_deadline(6'000'000);
  EXPECT_EQ(run.plans(), plans + 1);
  EXPECT_THAT(run.order(), testing::IsEmpty());
}

TEST(SmHeadroom, ALaunchThatNeedsMoreIsPlannedFor) {
  Workload workload = workload_of({launch_of(100'000, 1000), launch_of(1, 1000), launch_of(2, 1000)});
  workload.applications[1].priority = workload.applications[2].priority = 1;
  PolicyRehearsal run("auto:reserve_share=0.4", small_device(10), std::move(workload));
  run.arrive(0, 0);
  run.arrive(1, 10'000);
  run.arrive(2, 11'000);
  EXPECT_THAT(run.admitted(), testing::IsEmpty());
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4, 4, 4, 4, 0, 0, 0, 0));
  EXPECT_THAT(run.quotas(2), Each(4));
}

TEST(SmHeadroom, ALongAdmittedLaunchKeepsTheReservation) {
  PolicyRehearsal run = urgent_beside_one("auto:reserve_share=0.4:reserve_ns=2e6:patience_ns=0");
  run.arrive(1, 10'000);
  run.end_launch(1, 20'000);
  run.arrive(2, 30'000);
  run.reach_deadline(5'000'000);
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4, 4, 4, 4, 0, 0, 0, 0));
  EXPECT_THAT(run.order(), ElementsAre(0));
  EXPECT_EQ(ns(*run.plan().wake_at), 7'000'000);
  run.end_launch(2, 6'000'000);
  run.reach_deadline(7'000'000);
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4, 4, 4, 4, 0, 0, 0, 0));
  run.reach_deadline(8'000'000);
  EXPECT_THAT(run.quotas(0), Each(4));
}

/// One that always runs, and urgent ones of so many blocks, of which four fill an SM.
PolicyRehearsal several_urgent(std::string_view policy, int count, int blocks, int blocks_of_first = 0) {
  std::vector<Launch> launches(static_cast<std::size_t>(count) + 1, launch_of(blocks, 1000));
  launches[0] = launch_of(100'000, 1000);
  if (blocks_of_first > 0) launches[1] = launch_of(blocks_of_first, 1000);
  Workload workload = workload_of(launches);
  for (Application& each : workload.applications) each.priority = 1;
  workload.applications[0].priority = 0;
  PolicyRehearsal run(policy, small_device(10), std::move(workload));
  run.arrive(0, 0);
  return run;
}

// Four SMs are kept, sixteen places. The first one is planned for, and counts all the same.
TEST(SmHeadroom, NoMoreLaunchesAreAdmittedThanFit) {
  PolicyRehearsal run = several_urgent("auto:reserve_share=0.4", 5, 5);
  for (int urgent = 1; urgent <= 5; ++urgent) run.arrive(urgent, 10'000 * urgent);
  EXPECT_THAT(run.admitted(), ElementsAre(2, 3));
  EXPECT_THAT(run.quotas(4), Each(4));
}

/// One for which four of ten SMs are kept has taken so long, and so many come at once. Four blocks fill an SM.
PolicyRehearsal after_one_that_took(std::int64_t nanoseconds, int count, int blocks) {
  constexpr int first = 2;
  PolicyRehearsal run = several_urgent("auto:reserve_share=0.4", count + 1, blocks, first);
  run.arrive(1, 1'000'000);
  run.start_group(1, 9, first, 1'500'000);
  run.end_group(1, 9, first, 1'500'000, 1'500'000 + nanoseconds);
  run.end_launch(1, 1'500'000 + nanoseconds);
  return run;
}

std::size_t admitted_of(std::int64_t took, int count, int blocks) {
  PolicyRehearsal run = after_one_that_took(took, count, blocks);
  for (int urgent = 2; urgent < count + 2; ++urgent) run.arrive(urgent, 3'000'000 + urgent);
  return run.admitted().size();
}

// Each fills five of sixteen places: three have room, and each of the others waits for five sixteenths of a launch.
TEST(SmHeadroom, AShortWaitForRoomIsAdmitted) {
  EXPECT_EQ(admitted_of(96'000, 50, 5), 50);
  EXPECT_EQ(admitted_of(97'000, 50, 5), 3);
}

// A device begins eight at a time, however little room they want: each waits for an eighth of a launch.
TEST(SmHeadroom, AtMostEightBeginAtATime) {
  EXPECT_EQ(admitted_of(240'000, 50, 1), 50);
  EXPECT_EQ(admitted_of(241'000, 50, 1), 8);
}

TEST(SmHeadroom, TheBacklogIsAtMostFiveMilliseconds) {
  EXPECT_EQ(admitted_of(80'000, 300, 5), 201);  // 25 us each
}

TEST(SmHeadroom, NoLaunchIsAdmittedBehindALessUrgentOne) {
  PolicyRehearsal run = after_one_that_took(10'000, 12, 5);
  for (int urgent = 2; urgent < 12; ++urgent) run.arrive(urgent, 3'000'000 + urgent);
  run.change_priority(12, 5, 3'500'000);
  run.arrive(12, 4'000'000);
  EXPECT_THAT(run.admitted(), testing::SizeIs(10));
  EXPECT_EQ(run.order().front(), 12);
}

TEST(SmHeadroom, AnEndedLaunchMakesRoom) {
  PolicyRehearsal run = several_urgent("auto:reserve_share=0.4", 3, 16);
  run.arrive(1, 10'000);
  run.arrive(2, 20'000);
  EXPECT_THAT(run.admitted(), testing::IsEmpty());
  run.end_launch(1, 30'000);
  run.end_launch(2, 30'000);
  run.arrive(3, 40'000);
  EXPECT_THAT(run.admitted(), ElementsAre(3));
}

TEST(SmHeadroom, ALaunchWithoutPriorityIsPlannedFor) {
  PolicyRehearsal run = several_urgent("auto:reserve_share=0.4", 2, 3);
  run.arrive(1, 10'000);
  run.change_priority(2, 0, 15'000);
  run.arrive(2, 20'000);
  EXPECT_THAT(run.admitted(), testing::IsEmpty());
}

TEST(SmHeadroom, NothingIsReservedForALaunchThatDoesNotFit) {
  PolicyRehearsal run = urgent_beside_one("auto:reserve_share=0.2", 100);
  run.arrive(1, 10'000);
  EXPECT_THAT(run.quotas(0), Each(4));
}

/// What each launch of a small application takes beside the others, which pauses between them.
std::vector<std::int64_t> turnarounds_of_small(Workload workload, std::int64_t pause, const std::string& policy) {
  constexpr int launches = 20;
  Launch small = launch_of(3, 1000);
  small.pace.after = Duration(pause);
  const auto first = static_cast<int>(workload.applications[0].operations.size());
  workload.applications.push_back(application_of("small", std::vector<Operation>(launches, small)));
  const Trace trace = record(small_device(10), workload, policy);
  std::vector<std::int64_t> turnarounds;
  for (int launch = first; launch < first + launches; ++launch) {
    const std::int64_t before = launch > first ? end_of(trace, launch - 1) : 0;
    turnarounds.push_back(end_of(trace, launch) - before - pause);
  }
  return turnarounds;
}

TEST(SmHeadroom, AnSmIsReservedForADelayedSmallLaunch) {
  const Workload one_long = workload_of({launch_of(4000, 100'000)});
  const std::vector<std::int64_t> kept = turnarounds_of_small(one_long, 230'000, "auto");
  for (int i = 0; i < 4; ++i) EXPECT_GT(kept[i], 20'000) << i;
  EXPECT_THAT(std::vector(kept.begin() + 6, kept.end()), Each(1000));  // as long as it was not free before
  EXPECT_THAT(turnarounds_of_small(one_long, 230'000, "auto:reserve_share=0"), Each(testing::Gt(20'000)));
}

// Both have launched as often: room is tried for those alone who fit in it.
TEST(SmHeadroom, LaunchesThatDoNotFitHaveNoTrial) {
  const Workload others{.applications = {application_of("large", std::vector<Operation>(30, launch_of(400, 100'000)))}};
  const std::vector<std::int64_t> kept = turnarounds_of_small(others, 1'030'000, "auto");
  EXPECT_THAT(std::vector(kept.begin() + 6, kept.end()), Each(1000));
}

TEST(SmHeadroom, AnUrgentLaunchDoesNotWaitForBlocksOfOthers) {
  Workload workload = workload_of({launch_of(400, 100'000)});
  for (int i = 0; i < 5; ++i) {
    Application urgent = application_of("urgent" + std::to_string(i), {launch_of(3, 1000)}, 50'000 + 230'000 * i);
    urgent.priority = 1;
    workload.applications.push_back(std::move(urgent));
  }
  const Trace trace = record(small_device(10), workload, "auto:reserve_share=0.4");
  const std::int64_t first = end_of(trace, 1) - 50'000;
  EXPECT_GT(first, 40'000);  // nothing was reserved yet
  for (int i = 1; i < 5; ++i) EXPECT_EQ(end_of(trace, 1 + i) - (50'000 + 230'000 * i), 1000) << i;
}

}  // namespace
}  // namespace gpushare
