// SPDX-License-Identifier: Apache-2.0
#include "core/engine/trace.hpp"

#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

/// Every kind of event but DeadlineReached, uniform and per-SM quotas, and a wake-up time.
Trace sample_trace() {
  Workload workload = workload_of({launch_of(3, 100), launch_of(2, 50)}, {0, 20});
  workload.applications.push_back(application_of("copies", {copy_to_device(30), copy_to_host(40)}));
  Trace trace = record(small_device(2), workload, "srtf");
  trace.decisions.front().plan.wake_at = Time(Duration(1234));
  return trace;
}

/// Reads damaged bytes: a trace or InvalidInput, and nothing else.
void expect_trace_or_refusal(const std::string& bytes) {
  try {
    trace_from_bytes(bytes);
  } catch (const InvalidInput&) {
  }
}

TEST(Trace, BytesGiveBackTheTrace) {
  const Trace trace = sample_trace();
  EXPECT_EQ(trace_from_bytes(to_bytes(trace)), trace);
}

TEST(Trace, ExtremeValuesSurvive) {
  Trace trace;
  trace.events.push_back(
      {.time = Time::max(), .started = Time::min(), .block = -1, .sm = SmId{-1}, .blocks = 2147483647});
  trace.decisions.push_back(
      {0, {.shares = {{OperationId{2147483647}, Quota::everywhere(-2147483647), Duration::max(), true}}}});
  EXPECT_EQ(trace_from_bytes(to_bytes(trace)), trace);
}

TEST(Trace, RemembersWhatTheDeviceKnewAlready) {
  const Trace trace{.events = {{.kind = EventKind::LaunchEnded, .next_is_known = true}, {}}};
  EXPECT_EQ(trace_from_bytes(to_bytes(trace)), trace);
}

TEST(Trace, AnEmptyOneIsPossible) { EXPECT_EQ(trace_from_bytes(to_bytes({})), Trace{}); }

TEST(Trace, BytesAreLittleEndianWhateverTheMachine) {
  const std::string bytes = to_bytes({.events = {Event{.time = Time(Duration(0x0102))}}});
  EXPECT_EQ(bytes.substr(0, 16), "gpushare-trace-5");
  EXPECT_EQ(bytes.substr(16, 8), std::string("\1\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(24, 8), std::string("\2\1\0\0\0\0\0\0", 8));
}

TEST(Trace, EveryTruncationIsRefused) {
  const std::string bytes = to_bytes(sample_trace());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(trace_from_bytes(bytes.substr(0, length)), InvalidInput) << length << " of " << bytes.size();
  }
}

TEST(Trace, ALengthThatTheBytesCannotHoldIsRefusedBeforeAnythingIsRead) {
  const std::string length("\0\0\0\0\0\1\0\0", 8);
  const std::string message = message_of<InvalidInput>([&] { trace_from_bytes("gpushare-trace-5" + length); });
  EXPECT_NE(message.find("a length is wrong"), std::string::npos) << message;
}

TEST(Trace, BytesBehindTheEndAreRefused) { EXPECT_THROW(trace_from_bytes(to_bytes({}) + "x"), InvalidInput); }

TEST(Trace, AnotherVersionIsRefused) {
  std::string bytes = to_bytes(sample_trace());
  for (const char version : {'1', '2', '3', '4'}) {
    bytes[15] = version;
    const std::string message = message_of<InvalidInput>([&] { trace_from_bytes(bytes); });
    EXPECT_EQ(message, std::string("this gpushare trace is of version ") + version +
                           ", but version 5 is due: record the run again");
  }
}

TEST(Trace, OtherBytesAreNoTrace) {
  for (const std::string bytes : {"", "gpushare-trace-", "gpushare-result-2"}) {
    EXPECT_EQ(message_of<InvalidInput>([&] { trace_from_bytes(bytes); }), "these bytes are not a gpushare trace");
  }
}

TEST(Trace, AGroupOfNoBlocksIsRefused) {
  for (const std::int32_t blocks : {0, -1}) {
    EXPECT_THROW(trace_from_bytes(to_bytes({.events = {Event{.blocks = blocks}}})), InvalidInput) << blocks;
  }
}

TEST(Trace, AnUnknownEventIsRefused) {
  Trace trace;
  trace.events.push_back({.kind = static_cast<EventKind>(200)});
  EXPECT_THROW(trace_from_bytes(to_bytes(trace)), InvalidInput);
}

TEST(Trace, ADecisionAfterAnEventThatIsNotThereIsRefused) {
  EXPECT_THROW(trace_from_bytes(to_bytes({.decisions = {Decision{}}})), InvalidInput);
}

TEST(Trace, FlippedBytesGiveATraceOrARefusal) {
  const std::string bytes = to_bytes(sample_trace());
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    for (const int mask : {0x01, 0x10, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[place] = static_cast<char>(damaged[place] ^ mask);
      expect_trace_or_refusal(damaged);
    }
  }
}

TEST(Trace, ScrambledBytesGiveATraceOrARefusal) {
  const std::string bytes = to_bytes(sample_trace());
  Dice dice(4);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (int times = dice.between(1, 20); times > 0; --times) {
      const int place = dice.between(16, static_cast<int>(bytes.size()) - 1);
      damaged[static_cast<std::size_t>(place)] = static_cast<char>(dice.between(0, 255));
    }
    expect_trace_or_refusal(damaged);
  }
}

}  // namespace
}  // namespace gpushare
