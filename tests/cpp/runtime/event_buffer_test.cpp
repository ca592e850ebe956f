// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/event_buffer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "times.hpp"

namespace gpushare {
namespace {

using test::at_ns;

using testing::ElementsAre;

Event end_of(int launch, std::int64_t time) {
  return {.time = at_ns(time), .operation = OperationId{launch}, .kind = EventKind::LaunchEnded};
}

TEST(EventBuffer, LastEventOfAPollIsNotFollowedByAKnownOne) {
  EventBuffer buffer;
  buffer.seen() = {end_of(1, 10), end_of(2, 20)};
  EXPECT_TRUE(buffer.take().next_is_known);
  EXPECT_FALSE(buffer.take().next_is_known);
  EXPECT_TRUE(buffer.empty());
}

TEST(EventBuffer, TimeDoesNotGoBack) {
  EventBuffer buffer;
  buffer.seen() = {end_of(1, 20), end_of(2, 10)};
  EXPECT_EQ(buffer.take().time, at_ns(20));
  EXPECT_EQ(buffer.take().time, at_ns(20));
  buffer.advance_to(at_ns(50));
  buffer.seen() = {end_of(3, 30), end_of(4, 60)};
  EXPECT_EQ(buffer.take().time, at_ns(50));
  EXPECT_EQ(buffer.take().time, at_ns(60));
}

TEST(EventBuffer, BlocksThatAreReportedLaterLastAsLong) {
  EventBuffer buffer;
  buffer.advance_to(at_ns(100));
  buffer.seen() = {{.time = at_ns(40), .started = at_ns(10), .kind = EventKind::BlockEnded}};
  const Event event = buffer.take();
  EXPECT_EQ(event.time, at_ns(100));
  EXPECT_EQ(event.started, at_ns(70));
}

TEST(EventBuffer, ClockIsReadAfterSomeEvents) {
  EventBuffer buffer;
  buffer.seen().resize(100);
  int taken = 0;
  for (; buffer.may_take_without_clock(); ++taken) buffer.take();
  EXPECT_GT(taken, 1);
  EXPECT_LT(taken, 100);
  EXPECT_FALSE(buffer.may_take_without_clock());
  buffer.clock_was_read();
  EXPECT_TRUE(buffer.may_take_without_clock());
}

TEST(EventBuffer, EventsAreDueAfterThreeDeferralsAndForALimitedTime) {
  EventBuffer buffer;
  buffer.seen().resize(1);
  for (int time = 0; time < 3; ++time) {
    EXPECT_FALSE(buffer.are_due(at_ns(time)));
    buffer.deferred();
  }
  EXPECT_TRUE(buffer.are_due(at_ns(1'000)));
  EXPECT_TRUE(buffer.are_due(at_ns(50'000)));
  EXPECT_FALSE(buffer.are_due(at_ns(51'000)));
  buffer.deferred();  // the next time begins when events are due again
  EXPECT_TRUE(buffer.are_due(at_ns(60'000)));
  buffer.take();
  buffer.none_waits();
  buffer.seen().resize(1);
  EXPECT_FALSE(buffer.are_due(at_ns(70'000)));
}

TEST(EventBuffer, DeviceSaysForHowLongEventsAreDue) {
  EventBuffer buffer({.time_for_events = Duration(10)});
  buffer.seen().resize(1);
  for (int time = 0; time < 3; ++time) buffer.deferred();
  EXPECT_TRUE(buffer.are_due(at_ns(100)));
  EXPECT_TRUE(buffer.are_due(at_ns(109)));
  EXPECT_FALSE(buffer.are_due(at_ns(110)));
}

TEST(EventBuffer, HeldEndIsReportedOnceReleased) {
  EventBuffer buffer;
  buffer.seen() = {end_of(1, 10), end_of(2, 10)};
  buffer.hold_end_of(OperationId{1});
  buffer.hold_end_of(OperationId{7});  // has not ended
  EXPECT_THAT(buffer.unreported_ends(), ElementsAre(OperationId{2}, OperationId{1}));
  EXPECT_EQ(buffer.take().operation, OperationId{2});
  EXPECT_TRUE(buffer.empty());
  buffer.release_ends(at_ns(30), [](OperationId launch) { return launch == OperationId{1}; });
  EXPECT_TRUE(buffer.empty());
  buffer.release_ends(at_ns(40), [](OperationId) { return false; });
  const Event end = buffer.take();
  EXPECT_EQ(end.operation, OperationId{1});
  EXPECT_EQ(end.time, at_ns(40));
}

TEST(EventBuffer, HoldingTheLastEventEmptiesIt) {
  EventBuffer buffer;
  buffer.seen() = {end_of(1, 10), end_of(2, 20)};
  buffer.take();
  buffer.hold_end_of(OperationId{2});
  EXPECT_TRUE(buffer.empty());
  EXPECT_THAT(buffer.unreported_ends(), ElementsAre(OperationId{2}));
}

TEST(EventBuffer, OnlyEndsOfOperationsCountAsUnreportedEnds) {
  EventBuffer buffer;
  buffer.seen() = {{.operation = OperationId{1}, .kind = EventKind::BlockEnded},
                   {.operation = OperationId{2}, .kind = EventKind::CopyEnded},
                   {.operation = OperationId{3}, .kind = EventKind::CopyStarted}};
  EXPECT_THAT(buffer.unreported_ends(), ElementsAre(OperationId{2}));
}

}  // namespace
}  // namespace gpushare
