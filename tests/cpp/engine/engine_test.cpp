// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::AllOf;

Plan everybody(const State& state) {
  Plan plan;
  for (const RunningLaunch& launch : state.running()) plan.shares.push_back(full_share(launch));
  return plan;
}

Time after_now(const State& state, std::int64_t nanoseconds) { return state.now() + Duration(nanoseconds); }

std::string complaint(const std::function<Plan(const State&)>& decide) {
  const Workload workload = workload_of({launch_of(9, 100, "saxpy"), launch_of(9, 100, "triad")});
  return message_of<PolicyError>([&] { record(small_device(2), workload, decide); });
}

std::string complaint_about(Quota quota) {
  return complaint(
      [&](const State& state) { return Plan{.shares = {{.launch = state.running().front().id, .quota = quota}}}; });
}

TEST(Engine, AStarvingPlanIsRefusedNamingTheWaitingLaunches) {
  EXPECT_THAT(complaint([](const State&) { return Plan{}; }), naming(0, "saxpy", "a", 1, "triad", "b", 9));
}

TEST(Engine, AStarvingPolicyIsNotBlamedForLaunchesThatEnded) {
  const std::string message = complaint([](const State& state) {
    if (state.running().front().id != OperationId{0}) return Plan{};
    return Plan{.shares = {full_share(state.running().front())}};
  });
  EXPECT_THAT(message, testing::AllOf(naming("triad"), testing::Not(naming("saxpy"))));
}

TEST(Engine, ANegativeQuotaIsRefused) {
  EXPECT_THAT(complaint_about(Quota::everywhere(-1)), naming("saxpy", "a", -1, "0..4"));
  EXPECT_THAT(complaint_about(Quota::per_sm({4, -2})), naming(-2));
}

TEST(Engine, AQuotaAboveTheMaximumResidencyIsRefused) {
  EXPECT_THAT(complaint_about(Quota::everywhere(5)), naming(5, "0..4"));
  EXPECT_THAT(complaint_about(Quota::per_sm({0, 17})), naming(17));
}

TEST(Engine, AQuotaForAnotherNumberOfSmsIsRefused) {
  EXPECT_THAT(complaint_about(Quota::per_sm({1, 1, 1})), naming(3, 2));
}

TEST(Engine, AnUnknownLaunchIsRefused) {
  for (const int unknown : {2, 77, -1}) {
    EXPECT_THAT(complaint([&](const State&) { return Plan{.shares = {{operation(unknown), Quota::everywhere(1)}}}; }),
                naming(unknown));
  }
}

TEST(Engine, ALaunchThatEndedIsRefused) {
  EXPECT_THAT(complaint([](const State&) { return Plan{.shares = {{operation(0), Quota::everywhere(1)}}}; }),
              naming(0));
}

TEST(Engine, ALaunchNamedTwiceIsRefused) {
  EXPECT_THAT(complaint([](const State&) {
                return Plan{.shares = {{operation(0), Quota::everywhere(1)}, {operation(0), Quota::everywhere(2)}}};
              }),
              naming(0, "saxpy", "a"));
}

TEST(Engine, AWakeUpThatIsNotAfterNowIsRefused) {
  for (const int early : {0, 1}) {
    const Workload workload = workload_of({launch_of(1, 100)}, {500});
    const std::string message = message_of<PolicyError>([&] {
      record(small_device(), workload, [&](const State& state) { return Plan{.wake_at = after_now(state, -early)}; });
    });
    EXPECT_THAT(message, naming(500 - early, 500));
  }
}

TEST(Engine, APolicyThatOnlyEverWakesUpIsStopped) {
  EXPECT_THAT(complaint([](const State& state) { return Plan{.wake_at = after_now(state, 1)}; }), naming("saxpy", "a"));
}

TEST(Engine, ManyWakeUpsDuringOneLongBlockAreNotStarvation) {
  const Trace trace = record(small_device(), workload_of({launch_of(1, 150'000)}), [](const State& state) {
    Plan plan = everybody(state);
    plan.wake_at = after_now(state, 1);
    return plan;
  });
  EXPECT_EQ(end_of(trace, 0), 150'000);
}

TEST(Engine, APolicyIsWokenWhenItAsked) {
  const Trace trace = record(small_device(), workload_of({launch_of(1, 1000)}, {100}), [](const State& state) {
    if (state.now() < Time(Duration(400))) return Plan{.wake_at = Time(Duration(400))};
    return everybody(state);
  });
  EXPECT_EQ(block_starts(trace, 0), std::vector<std::int64_t>{400});
}

TEST(Engine, ALaterPlanTakesBackTheWakeUp) {
  const Trace trace =
      record(small_device(), workload_of({launch_of(8, 100), launch_of(1, 10)}, {0, 50}), [](const State& state) {
        Plan plan = everybody(state);
        if (state.running().size() == 1 && state.now() == Time{}) plan.wake_at = Time(Duration(70));
        return plan;
      });
  for (const Event& event : trace.events) EXPECT_NE(event.kind, EventKind::DeadlineReached);
}

TEST(Engine, AnInvalidWorkloadIsRefusedBeforeAnythingRuns) {
  EXPECT_THROW(record(small_device(), Workload{}, "fifo"), InvalidInput);
  EXPECT_THROW(record(small_device(), workload_of({launch_of(0, 100)}), "fifo"), InvalidInput);
  EXPECT_THAT(
      message_of<InvalidInput>([] { record(small_device(), workload_of({launch_of_threads(512, 1, 1)}), "fifo"); }),
      naming("threads"));
}

TEST(Engine, WaitsForLateArrivals) {
  EXPECT_EQ(end_of(record(small_device(), workload_of({launch_of(1, 10), launch_of(1, 10)}, {0, 5000}), "fifo"), 1),
            5010);
}

TEST(Engine, ObserversSeeTheEventBeforeThePolicyDecidesAboutIt) {
  const Trace trace = record(small_device(), workload_of({launch_of(1, 10)}), "fifo");
  ASSERT_EQ(trace.decisions.size(), 1U);
  EXPECT_EQ(trace.events[trace.decisions[0].after_event].kind, EventKind::LaunchArrived);
}

TEST(Engine, WithoutALaunchThePolicyIsNotAsked) {
  const Workload workload{.applications = {application_of("a", {copy_to_device(10)})}};
  EXPECT_TRUE(record(small_device(), workload, "fifo").decisions.empty());
}

TEST(DecideAgain, RebuildsTheDecisionsFromTheEvents) {
  const Workload workload = workload_of({launch_of(20, 100), launch_of(9, 30)}, {0, 120});
  const Trace trace = record(small_device(2), workload, "srtf");
  EXPECT_EQ(decide_again(trace, small_device(2), workload, *make_policy("srtf")), trace.decisions);
  EXPECT_NE(decide_again(trace, small_device(2), workload, *make_policy("fifo")), trace.decisions);
}

TEST(DecideAgain, ATraceOfAnotherWorkloadIsRefused) {
  const Trace trace = record(small_device(2), workload_of({launch_of(20, 100), launch_of(9, 30)}), "fifo");
  const auto complaint_with = [&](const Device& device, const Workload& workload) {
    return message_of<InvalidInput>([&] { decide_again(trace, device, workload, *make_policy("fifo")); });
  };
  EXPECT_THAT(complaint_with(small_device(2), workload_of({launch_of(20, 100)})), naming("application", 1));
  EXPECT_THAT(complaint_with(small_device(1), workload_of({launch_of(20, 100), launch_of(9, 30)})), naming("SM", 1));
}

/// A real GPU tells in one go what a look has shown.
TEST(DecideAgain, SimultaneousEventsGetOnePlanAfterTheLast) {
  const Workload workload = workload_of({launch_of(20, 100), launch_of(9, 30)}, {0, 120});
  Trace trace = record(small_device(2), workload, "srtf");
  const std::size_t first = trace.decisions[1].after_event;
  const std::size_t last = trace.decisions[4].after_event;
  for (std::size_t known = first; known < last; ++known) trace.events[known].next_is_known = true;
  const std::vector<Decision> decisions = decide_again(trace, small_device(2), workload, *make_policy("srtf"));
  EXPECT_EQ(decisions.size(), trace.decisions.size() - 3);
  EXPECT_EQ(decisions[1], trace.decisions[4]);
}

TEST(DecideAgain, ADamagedTraceIsRefusedOrReplayed) {
  const Workload workload = workload_of({launch_of(20, 100), launch_of(9, 30)}, {0, 120});
  const Trace trace = record(small_device(2), workload, "srtf");
  Dice dice(5);
  for (int round = 0; round < 500; ++round) {
    Trace damaged = trace;
    for (int times = dice.between(1, 5); times > 0; --times) {
      Event& event =
          damaged.events[static_cast<std::size_t>(dice.between(0, static_cast<int>(trace.events.size()) - 1))];
      event.operation = operation(dice.between(-1, 3));
      event.sm = static_cast<SmId>(dice.between(-1, 2));
      event.kind = static_cast<EventKind>(dice.between(0, static_cast<int>(EventKind::DeadlineReached)));
    }
    try {
      decide_again(damaged, small_device(2), workload, *make_policy("srtf"));
    } catch (const std::exception&) {
    }
  }
}

}  // namespace
}  // namespace gpushare
