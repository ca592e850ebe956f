// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "core/priorities/ageing.hpp"
#include "hand_written_events.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

constexpr std::int64_t ms = 1'000'000;

/// Applications a, b, c... of one long launch each: 40 waves of 1 ms.
Workload long_ones(const std::vector<int>& priorities, const std::vector<std::int64_t>& arrivals_ms = {}) {
  std::vector<std::int64_t> arrivals;
  for (const std::int64_t arrival : arrivals_ms) arrivals.push_back(arrival * ms);
  Workload workload = workload_of(std::vector<Launch>(priorities.size(), launch_of(160, ms)), arrivals);
  for (std::size_t i = 0; i < priorities.size(); ++i) workload.applications[i].priority = priorities[i];
  return workload;
}

PolicyRehearsal rehearsal(const std::vector<int>& priorities, std::string_view policy = "effisha-dynamic") {
  return {policy, small_device(), long_ones(priorities)};
}

/// Who was chosen when: application and time in us, for every change.
std::vector<std::pair<int, std::int64_t>> slices(const Trace& trace) {
  std::vector<std::pair<int, std::int64_t>> slices;
  for (const Decision& decision : trace.decisions) {
    const int launch = static_cast<int>(decision.plan.shares.front().launch);
    if (slices.empty() || slices.back().first != launch) {
      slices.emplace_back(launch, ns(trace.events[decision.after_event].time) / 1000);
    }
  }
  return slices;
}

std::vector<std::pair<int, std::int64_t>> first_slices(const Workload& workload, std::string_view policy) {
  auto all = slices(record(small_device(), workload, policy));
  all.resize(std::min<std::size_t>(all.size(), 5));
  return all;
}

using Slices = std::vector<std::pair<int, std::int64_t>>;

TEST(AgeingPriority, GrowsByOnePerMillisecondByTwentyAtMost) {
  AgeingPriority priority(3);
  priority.wait_from(Time(Duration(5)));
  EXPECT_EQ(priority.at(Time(Duration(ms + 4))), 3);
  EXPECT_EQ(priority.at(Time(Duration(ms + 5))), 4);
  EXPECT_EQ(priority.at(Time(Duration(100 * ms))), 23);
  EXPECT_EQ(priority.reaches(5), Time(Duration(2 * ms + 5)));
  EXPECT_EQ(priority.reaches(24), std::nullopt);
}

TEST(AgeingPriority, KeepsWhatItHasWaitedForUntilItIsReset) {
  AgeingPriority priority(0);
  priority.wait_from(Time{});
  priority.stop(Time(Duration(2 * ms)));
  EXPECT_EQ(priority.at(Time(Duration(9 * ms))), 2);
  EXPECT_EQ(priority.reaches(3), std::nullopt);
  priority.wait_from(Time(Duration(9 * ms)));
  EXPECT_EQ(priority.reaches(3), Time(Duration(10 * ms)));
  priority.reset();
  EXPECT_EQ(priority.at(Time(Duration(20 * ms))), 0);
}

TEST(EffishaDynamic, ASliceIsHalfAMillisecondTimesPriorityAndOne) {
  for (const int priority : {0, 3, 30}) {
    PolicyRehearsal run = rehearsal({priority});
    run.arrive(0, 100);
    EXPECT_EQ(run.plan().wake_at, Time(Duration(100 + (priority + 1) * ms / 2)));
  }
}

TEST(EffishaDynamic, AHigherPriorityTakesOverAtOnceAndALowerOneWaits) {
  PolicyRehearsal run = rehearsal({4, 9, 2});
  run.arrive(0, 0);
  run.arrive(2, 10);
  EXPECT_THAT(run.order(), ElementsAre(0));
  run.arrive(1, 20);
  EXPECT_THAT(run.order(), ElementsAre(1));
}

// a: 0 to 3.5 ms (priority 6). b has waited since 0 and has grown from 5 to 7 at 2 ms, which is above a's 6: it takes
// over for (7 + 1) / 2 = 4 ms. Then nobody is active, the queues change places, and a has its 3.5 ms.
TEST(EffishaDynamic, AgeingPreempts) {
  const Slices expected{{0, 0}, {1, 2000}, {0, 6000}};
  Slices found = first_slices(long_ones({6, 5}), "effisha-dynamic");
  found.resize(3);
  EXPECT_EQ(found, expected);
}

// Without that, a has its whole slice, and b, grown to 5 + 3, then has (8 + 1) / 2 = 4.5 ms.
TEST(EffishaDynamic, AgeingMayWaitForTheEndOfTheSlice) {
  const Slices expected{{0, 0}, {1, 3500}, {0, 8000}};
  Slices found = first_slices(long_ones({6, 5}), "effisha-dynamic:ageing=waits");
  found.resize(3);
  EXPECT_EQ(found, expected);
}

TEST(EffishaDynamic, ASliceMayBeOfTheFirstPriority) {
  const Slices expected{{0, 0}, {1, 3500}, {0, 6500}};
  Slices found = first_slices(long_ones({6, 5}), "effisha-dynamic:ageing=waits:slice=static");
  found.resize(3);
  EXPECT_EQ(found, expected);
}

// c comes at 1 ms, takes over from a and has (9 + 1) / 2 = 5 ms; b, of priority 0 since 0, has 6 by then. a is inactive
// and has to wait until b has had (6 + 1) / 2 = 3.5 ms, or is active and 4 (nothing grows while it runs) + 5.
TEST(EffishaDynamic, TheEvictedBecomeInactiveOrStayActive) {
  const Workload workload = long_ones({4, 0, 9}, {0, 0, 1});
  Slices found = first_slices(workload, "effisha-dynamic:ageing=waits");
  found.resize(3);
  EXPECT_EQ(found, (Slices{{0, 0}, {2, 1000}, {1, 6000}}));
  found = first_slices(workload, "effisha-dynamic:ageing=waits:queue_of_preempted=active");
  found.resize(3);
  EXPECT_EQ(found, (Slices{{0, 0}, {2, 1000}, {0, 6000}}));
}

TEST(EffishaDynamic, WaitingLaunchesAreServedBeforeTheOthersEnd) {
  const Trace trace = record(small_device(), long_ones({0, 30, 30}), "effisha-dynamic");
  EXPECT_LT(block_starts(trace, 0).front(), 40 * ms);
  const Trace starving = record(small_device(), long_ones({0, 30, 30}), "effisha-static");
  EXPECT_EQ(block_starts(starving, 0).front(), 80 * ms);
}

// a's second launch arrives at 1 ms, as the first one ends, and goes on with a's slice of 2 ms,
// which is over in its second wave of 0.7 ms.
TEST(EffishaDynamic, AnApplicationKeepsItsServiceAcrossLaunches) {
  Workload workload;
  workload.applications = {application_of("a", {launch_of(4, ms), launch_of(40, 700'000)}),
                           application_of("b", {launch_of(40, ms)})};
  workload.applications[0].priority = workload.applications[1].priority = 3;
  const Trace trace = record(small_device(), workload, "effisha-dynamic:ageing=waits");
  EXPECT_EQ(block_starts(trace, 1).front(), ms);
  EXPECT_EQ(block_starts(trace, 2).front(), 2'400'000);
}

// Section 7: at the end of its slice a request goes to the inactive queue. a's third slice of 1 ms ends at 3 ms; b,
// which comes at that time or 100 ns to either side of it, has (4 + 1) / 2 = 2.5 ms, and as a waits in the inactive
// queue and its priority is as at first, b has the next slice, too, and ends at 7 ms.
TEST(EffishaDynamic, ARequestThatComesAsASliceEndsFindsTheOtherInactive) {
  for (const std::int64_t arrival_ns : {2'999'900, 3'000'000, 3'000'100}) {
    Workload workload = workload_of({launch_of(100, 100'000), launch_of(40, 100'000)}, {0, arrival_ns});
    workload.applications[0].priority = 1;
    workload.applications[1].priority = 4;
    Device one_slot = small_device();
    one_slot.per_sm.blocks = 1;
    const Trace trace = record(one_slot, workload, "effisha-dynamic");
    EXPECT_NEAR(end_of(trace, 1), 7 * ms, ms / 10) << arrival_ns;
    EXPECT_NEAR(end_of(trace, 0), 14 * ms, ms / 10) << arrival_ns;
  }
}

// The same, where the one that comes has the lower priority: the other one's slice has ended all the same.
TEST(EffishaDynamic, ALowerPriorityThatComesAsASliceEndsIsNext) {
  const Slices expected{{0, 0}, {1, 4000}, {0, 4500}};
  Workload workload = long_ones({7, 0}, {0, 4});
  Slices found = first_slices(workload, "effisha-dynamic");
  found.resize(3);
  EXPECT_EQ(found, expected);
}

TEST(EffishaDynamic, OfTwoThatComeAsASliceEndsBothAreActive) {
  const Slices expected{{0, 0}, {1, 4000}, {2, 4000}, {1, 6000}};
  Slices found = first_slices(long_ones({7, 2, 3}, {0, 4, 4}), "effisha-dynamic:ageing=waits");
  found.resize(4);
  EXPECT_EQ(found, expected);
}

TEST(EffishaDynamic, LeftoverIsServedInOrderOfPriority) {
  PolicyRehearsal run = rehearsal({4, 1, 2}, "effisha-dynamic:queue_gets_leftover=yes");
  for (int launch = 0; launch < 3; ++launch) run.arrive(launch, 0);
  EXPECT_THAT(run.order(), ElementsAre(0, 2, 1));
}

TEST(EffishaDynamic, APriorityOutOfRangeIsRefusedBeforeAnythingRuns) {
  for (const int wrong : {-1, 1001}) {
    const std::string message =
        message_of<PolicyError>([&] { record(small_device(), long_ones({0, wrong}), "effisha-dynamic"); });
    EXPECT_THAT(message, naming("b", wrong, "0..1000"));
  }
}

}  // namespace
}  // namespace gpushare
