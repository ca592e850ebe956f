// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/mixing/reserve.hpp"
#include "core/policies/options.hpp"
#include "hand_written_events.hpp"
#include "recorded_run.hpp"
#include "sample_kernels.hpp"

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

TEST(Reserve, NothingIsKeptBeforeAnythingUrgentHasCome) { EXPECT_THAT(urgent_beside_one("auto").quotas(0), Each(4)); }

TEST(Reserve, SmsForTwoLaunchesAreKeptAsFarAsTheShareAllows) {
  PolicyRehearsal run = urgent_beside_one("auto:reserve=0.4");
  run.arrive(1, 10'000);
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4, 4, 4, 4, 0, 0, 0, 0));
  EXPECT_THAT(run.quotas(1), Each(4));
  EXPECT_EQ(run.order().front(), 1);
  run.end_launch(1, 20'000);
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4, 4, 4, 4, 0, 0, 0, 0));
}

class ReserveRehearsal : public HandWrittenRun {
 public:
  using HandWrittenRun::HandWrittenRun;
  Reserve reserve{{.share = 0.2, .patience = Duration(1'000'000)}};

 private:
  void observed(const Event& event) override { reserve.observe(event, state()); }
};

TEST(Reserve, TakesAsMuchFromEverybodyWhereverTheirSmsAre) {
  Workload workload = workload_of({launch_of(1000, 1000), launch_of(1000, 1000), launch_of(4, 1000)});
  workload.applications[2].priority = 1;
  ReserveRehearsal run(small_device(10), std::move(workload));
  for (int launch = 0; launch < 3; ++launch) run.arrive(launch, 0);
  const Plan plan = run.reserve.applied_to(
      {.shares = {{.launch = OperationId{0}, .quota = Quota::per_sm({4, 4, 4, 4, 4, 0, 0, 0, 0, 0})},
                  {.launch = OperationId{1}, .quota = Quota::per_sm({0, 0, 0, 0, 0, 4, 4, 4, 4, 4})}}},
      run.state());
  EXPECT_EQ(plan.shares[0].quota, Quota::per_sm({4, 4, 4, 4, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(plan.shares[1].quota, Quota::per_sm({0, 0, 0, 0, 4, 4, 4, 4, 0, 0}));
}

TEST(Reserve, IsGivenBackWhenNothingUrgentComesAnyMore) {
  PolicyRehearsal run = urgent_beside_one("auto:reserve=0.4:reserve_us=200:patience_us=0");
  run.arrive(1, 10'000);
  run.end_launch(1, 20'000);
  ASSERT_TRUE(run.plan().wake_at);
  EXPECT_EQ(ns(*run.plan().wake_at), 210'000);
}

TEST(Reserve, WhoFindsRoomKeptIsAdmittedAndNothingIsPlannedForIt) {
  PolicyRehearsal run = urgent_beside_one("auto:reserve=0.4");
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
TEST(Reserve, APlanBesideAdmittedLaunchesNamesNobodyWhoHasEnded) {
  Workload workload = workload_of(std::vector<Launch>(3, launch_of(3, 1000)));
  workload.applications[0].priority = workload.applications[2].priority = 1;
  workload.applications[1].priority = 2;
  PolicyRehearsal run("auto:reserve=0.4", small_device(10), std::move(workload));
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

TEST(Reserve, WhoNeedsMoreThanIsKeptIsPlannedFor) {
  Workload workload = workload_of({launch_of(100'000, 1000), launch_of(1, 1000), launch_of(2, 1000)});
  workload.applications[1].priority = workload.applications[2].priority = 1;
  PolicyRehearsal run("auto:reserve=0.4", small_device(10), std::move(workload));
  run.arrive(0, 0);
  run.arrive(1, 10'000);
  run.arrive(2, 11'000);
  EXPECT_THAT(run.admitted(), testing::IsEmpty());
  EXPECT_THAT(run.quotas(0), ElementsAre(4, 4, 4, 4, 4, 4, 0, 0, 0, 0));
  EXPECT_THAT(run.quotas(2), Each(4));
}

TEST(Reserve, ALongOneThatWasAdmittedKeepsItsSms) {
  PolicyRehearsal run = urgent_beside_one("auto:reserve=0.4:reserve_us=2000:patience_us=0");
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
PolicyRehearsal several_urgent(std::string_view policy, int count, int blocks) {
  std::vector<Launch> launches(static_cast<std::size_t>(count) + 1, launch_of(blocks, 1000));
  launches[0] = launch_of(100'000, 1000);
  Workload workload = workload_of(launches);
  for (Application& each : workload.applications) each.priority = 1;
  workload.applications[0].priority = 0;
  PolicyRehearsal run(policy, small_device(10), std::move(workload));
  run.arrive(0, 0);
  return run;
}

// Four SMs are kept, sixteen places. The first one is planned for, and counts all the same.
TEST(Reserve, NoMoreAreAdmittedThanThereIsRoomFor) {
  PolicyRehearsal run = several_urgent("auto:reserve=0.4", 5, 5);
  for (int urgent = 1; urgent <= 5; ++urgent) run.arrive(urgent, 10'000 * urgent);
  EXPECT_THAT(run.admitted(), ElementsAre(2, 3));
  EXPECT_THAT(run.quotas(4), Each(4));
}

/// After one that was planned for and one that was admitted, with this turnaround, come so many at once.
std::vector<int> admitted_at_once(int count, std::int64_t turnaround, int blocks = 5) {
  PolicyRehearsal run = several_urgent("auto:reserve=0.4", count + 2, blocks);
  for (int urgent = 1; urgent <= 2; ++urgent) {
    run.arrive(urgent, 3'000'000 * urgent);
    run.end_launch(urgent, 3'000'000 * urgent + turnaround);
  }
  for (int urgent = 3; urgent < count + 3; ++urgent) run.arrive(urgent, 9'000'000 + 1000 * urgent);
  return run.admitted();
}

// Each fills five quarters of one of four SMs: three have room, and the others wait for a third of a turnaround each.
TEST(Reserve, WhoWillHaveRoomSoonerThanAPlanIsAdmittedToo) {
  EXPECT_THAT(admitted_at_once(100, 10'000), testing::SizeIs(1 + 100));
  EXPECT_THAT(admitted_at_once(100, 90'000), testing::SizeIs(1 + 100));
  EXPECT_THAT(admitted_at_once(100, 100'000), testing::SizeIs(1 + 3));
}

// Each fills half of one of four SMs, an eighth; and there are eight streams for them.
TEST(Reserve, WhoWaitsInOneOfTheStreamsIsAdmittedWhereThatTakesLittle) {
  EXPECT_THAT(admitted_at_once(30, 240'000, 2), testing::SizeIs(1 + 30));
  EXPECT_THAT(admitted_at_once(30, 241'000, 2), testing::SizeIs(1 + 8));
}

TEST(Reserve, WhoHasEndedMakesRoomForTheNext) {
  PolicyRehearsal run = several_urgent("auto:reserve=0.4", 3, 16);
  run.arrive(1, 10'000);
  run.arrive(2, 20'000);
  EXPECT_THAT(run.admitted(), testing::IsEmpty());
  run.end_launch(1, 30'000);
  run.end_launch(2, 30'000);
  run.arrive(3, 40'000);
  EXPECT_THAT(run.admitted(), ElementsAre(3));
}

TEST(Reserve, WhoIsNotUrgentIsPlannedForThoughRoomIsKept) {
  PolicyRehearsal run = several_urgent("auto:reserve=0.4", 2, 3);
  run.arrive(1, 10'000);
  run.change_priority(2, 0, 15'000);
  run.arrive(2, 20'000);
  EXPECT_THAT(run.admitted(), testing::IsEmpty());
}

TEST(Reserve, NothingIsKeptForWhatWouldNotFit) {
  PolicyRehearsal run = urgent_beside_one("auto:reserve=0.2", 100);
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

TEST(Reserve, AnSmIsKeptForASmallOneThatOthersHoldUp) {
  const Workload one_long = workload_of({launch_of(4000, 100'000)});
  const std::vector<std::int64_t> kept = turnarounds_of_small(one_long, 230'000, "auto");
  for (int i = 0; i < 4; ++i) EXPECT_GT(kept[i], 20'000) << i;
  EXPECT_THAT(std::vector(kept.begin() + 6, kept.end()), Each(1000));  // as long as it was not free before
  EXPECT_THAT(turnarounds_of_small(one_long, 230'000, "auto:reserve=0"), Each(testing::Gt(20'000)));
}

// Both have launched as often: room is tried for those alone who fit in it.
TEST(Reserve, WhoWouldNotFitGivesWayWhileRoomIsTriedForOthers) {
  const Workload others{.applications = {application_of("large", std::vector<Operation>(30, launch_of(400, 100'000)))}};
  const std::vector<std::int64_t> kept = turnarounds_of_small(others, 1'030'000, "auto");
  EXPECT_THAT(std::vector(kept.begin() + 6, kept.end()), Each(1000));
}

TEST(Reserve, AnUrgentLaunchNeedNotWaitForBlocksOfOthers) {
  Workload workload = workload_of({launch_of(400, 100'000)});
  for (int i = 0; i < 5; ++i) {
    Application urgent = application_of("urgent" + std::to_string(i), {launch_of(3, 1000)}, 50'000 + 230'000 * i);
    urgent.priority = 1;
    workload.applications.push_back(std::move(urgent));
  }
  const Trace trace = record(small_device(10), workload, "auto:reserve=0.4");
  const std::int64_t first = end_of(trace, 1) - 50'000;
  EXPECT_GT(first, 40'000);  // nobody knew of it
  for (int i = 1; i < 5; ++i) EXPECT_EQ(end_of(trace, 1 + i) - (50'000 + 230'000 * i), 1000) << i;
}

}  // namespace
}  // namespace gpushare
