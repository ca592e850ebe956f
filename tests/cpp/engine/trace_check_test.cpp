// SPDX-License-Identifier: Apache-2.0
#include "core/engine/trace_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "core/trace/accuracy.hpp"
#include "core/trace/kernel_states.hpp"
#include "core/trace/predictions_over_time.hpp"
#include "event_groups.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

const Device two_sms = small_device(2);
const Workload copy_and_launches{.applications = {application_of("a", {copy_to_device(10), launch_of(4, 100)}),
                                                  application_of("b", {launch_of(4, 100)})}};
constexpr int first_launch = 1;
constexpr int second_launch = 2;

Event of_application(EventKind kind) { return {.kind = kind}; }

Event of_launch(EventKind kind, int of = first_launch, std::int32_t blocks = 1, SmId sm = {}) {
  return {.operation = operation(of), .sm = sm, .blocks = blocks, .kind = kind};
}

/// Application 0 and its launch are there.
const std::vector<Event> begun{of_application(EventKind::ApplicationArrived), of_launch(EventKind::LaunchArrived)};

Trace trace_after(std::vector<Event> events, std::initializer_list<Event> more) {
  events.insert(events.end(), more);
  return {.events = std::move(events)};
}

std::string refusal(const Trace& trace) {
  return message_of<InvalidInput>([&] { require_possible(trace, copy_and_launches, two_sms); });
}

std::string refusal_after_the_begin(std::initializer_list<Event> events) { return refusal(trace_after(begun, events)); }

TEST(TraceCheck, EveryRunIsPossibleBlockByBlockAndInGroups) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device any = random_device(dice);
    const Workload random = random_workload(dice, any, 5);
    const Trace trace = record(any, random, seed % 2 == 0 ? "effisha-dynamic" : "srtf", seed);
    EXPECT_NO_THROW(require_possible(trace, random, any));
    EXPECT_NO_THROW(require_possible(in_groups(trace), random));
  }
}

TEST(TraceCheck, ALaunchThatIsWithdrawnNeedNotStartAllBlocks) {
  EXPECT_NO_THROW(require_possible(
      trace_after(begun, {of_launch(EventKind::BlockStarted), of_launch(EventKind::BlockEnded),
                          of_launch(EventKind::LaunchEnded), of_application(EventKind::ApplicationEnded)}),
      copy_and_launches, two_sms));
}

TEST(TraceCheck, AnUnknownTargetOfAnEventIsNamed) {
  const std::string message = refusal_after_the_begin({of_launch(EventKind::BlockStarted, first_launch, 1, SmId{2})});
  EXPECT_THAT(message, naming("application 0", "operation 1", "SM 2"));
  EXPECT_THAT(refusal_after_the_begin({of_launch(EventKind::BlockStarted, 3)}), naming("operation 3"));
  EXPECT_THAT(refusal({.events = {{.application = ApplicationId{2}, .kind = EventKind::ApplicationArrived}}}),
              naming("application 2"));
  EXPECT_THAT(refusal({.events = begun, .decisions = {{.plan = {.shares = {{.launch = operation(-1)}}}}}}), naming(-1));
}

TEST(TraceCheck, NothingArrivesOrEndsTwice) {
  EXPECT_THAT(refusal_after_the_begin({of_application(EventKind::ApplicationArrived)}), naming("application 0"));
  EXPECT_THAT(refusal_after_the_begin({of_launch(EventKind::LaunchArrived)}), naming("application 0", "operation 1"));
  const auto end = of_launch(EventKind::LaunchEnded);
  EXPECT_THAT(refusal_after_the_begin({end, end}), naming("application 0", "operation 1"));
  EXPECT_THAT(refusal_after_the_begin({end, of_launch(EventKind::LaunchArrived)}),
              naming("application 0", "operation 1"));
  const auto leave = of_application(EventKind::ApplicationEnded);
  EXPECT_THAT(refusal_after_the_begin({leave, leave}), naming("application 0"));
  EXPECT_THAT(refusal_after_the_begin({leave, end}), naming("application 0", "operation 1"));
}

TEST(TraceCheck, OnlyLaunchesOfTheApplicationArriveAsSuch) {
  EXPECT_THAT(refusal_after_the_begin({of_launch(EventKind::LaunchArrived, 0)}), naming("operation 0"));
  EXPECT_THAT(refusal_after_the_begin({of_launch(EventKind::LaunchArrived, second_launch)}), naming("operation 2"));
}

TEST(TraceCheck, BlocksAreCounted) {
  const auto started = [](std::int32_t blocks) { return of_launch(EventKind::BlockStarted, first_launch, blocks); };
  const auto ended = [](std::int32_t blocks, int sm) {
    return of_launch(EventKind::BlockEnded, first_launch, blocks, static_cast<SmId>(sm));
  };
  EXPECT_EQ(refusal_after_the_begin({started(3), ended(2, 0), ended(1, 0), started(1)}), "");
  EXPECT_THAT(refusal_after_the_begin({started(5)}), naming("application 0", "operation 1"));
  EXPECT_THAT(refusal_after_the_begin({started(2), ended(3, 0)}), naming("application 0", "operation 1"));
  EXPECT_THAT(refusal_after_the_begin({started(2), ended(1, 1)}), naming("application 0", "operation 1"));
  EXPECT_THAT(refusal_after_the_begin({started(1), of_launch(EventKind::LaunchEnded)}),
              naming("application 0", "operation 1"));
}

TEST(TraceCheck, EveryReaderOfATraceRefusesABlockOfNoLaunch) {
  const Trace trace{.events = {of_launch(EventKind::BlockStarted)}};
  EXPECT_THROW(kernel_states(trace, copy_and_launches), InvalidInput);
  EXPECT_THROW(check_predictions(trace, two_sms, copy_and_launches), InvalidInput);
  EXPECT_THROW(predictions_over_time(trace, two_sms, copy_and_launches), InvalidInput);
  EXPECT_THROW(decide_again(trace, two_sms, copy_and_launches, *make_policy("fifo")), InvalidInput);
}

Trace with_damage(Trace trace, Dice& dice) {
  for (int times = dice.between(1, 5); times > 0; --times) {
    const int last = static_cast<int>(trace.events.size()) - 1;
    Event& event = trace.events[static_cast<std::size_t>(dice.between(0, last))];
    event = trace.events[static_cast<std::size_t>(dice.between(0, last))];
    if (dice.once_in(3)) event.operation = operation(dice.between(-1, 3));
    if (dice.once_in(3)) event.sm = static_cast<SmId>(dice.between(-1, 2));
    if (dice.once_in(3)) event.blocks = dice.between(1, 30);
    if (dice.once_in(3))
      event.kind = static_cast<EventKind>(dice.between(0, static_cast<int>(EventKind::PriorityChanged)));
  }
  return trace;
}

TEST(TraceCheck, ADamagedTraceIsRefusedOrReadByEveryReader) {
  const Workload pair = workload_of({launch_of(20, 100), launch_of(9, 30)}, {0, 120});
  const Trace trace = record(two_sms, pair, "srtf");
  Dice dice(5);
  for (int round = 0; round < 500; ++round) {
    const Trace read = with_damage(trace, dice);
    EXPECT_EQ(message_of<InvalidInput>([&] { kernel_states(read, pair); }).empty(),
              message_of<InvalidInput>([&] { require_possible(read, pair); }).empty());
    EXPECT_EQ(message_of<InvalidInput>([&] { check_predictions(read, two_sms, pair); }),
              message_of<InvalidInput>([&] { predictions_over_time(read, two_sms, pair); }));
  }
}

}  // namespace
}  // namespace gpushare
