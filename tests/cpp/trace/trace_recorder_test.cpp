// SPDX-License-Identifier: Apache-2.0
#include "core/trace/trace_recorder.hpp"

#include <gtest/gtest.h>

namespace gpushare {
namespace {

Event event_at(std::int64_t ns) { return {.time = Time(Duration(ns)), .kind = EventKind::BlockEnded}; }

Plan plan_for(int launch) {
  return {.shares = {{.launch = static_cast<OperationId>(launch), .quota = Quota::nowhere()}}};
}

TEST(TraceRecorder, KeepsMoreEventsThanItHadMemoryFor) {
  constexpr std::int64_t many = 50'000;
  TraceRecorder recorder;
  for (std::int64_t ns = 0; ns < many; ++ns) recorder.saw(event_at(ns));
  const Trace trace = recorder.take();
  ASSERT_EQ(trace.events.size(), many);
  for (std::int64_t ns = 0; ns < many; ++ns) ASSERT_EQ(trace.events[static_cast<std::size_t>(ns)], event_at(ns));
}

TEST(TraceRecorder, SaysAfterWhichEventAPlanWasMade) {
  TraceRecorder recorder;
  recorder.saw(event_at(1));
  recorder.decided(plan_for(1));
  for (std::int64_t ns = 0; ns < 20'000; ++ns) recorder.saw(event_at(ns));
  recorder.decided(plan_for(2));
  const Trace trace = recorder.take();
  EXPECT_EQ(trace.decisions, (std::vector<Decision>{{0, plan_for(1)}, {20'000, plan_for(2)}}));
}

TEST(TraceRecorder, BeginsAnewOnceItsTraceHasBeenTaken) {
  TraceRecorder recorder;
  recorder.saw(event_at(1));
  recorder.take();
  recorder.saw(event_at(2));
  recorder.decided(plan_for(1));
  EXPECT_EQ(recorder.take(), (Trace{.events = {event_at(2)}, .decisions = {{0, plan_for(1)}}}));
}

}  // namespace
}  // namespace gpushare
