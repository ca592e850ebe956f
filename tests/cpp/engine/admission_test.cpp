// SPDX-License-Identifier: Apache-2.0
#include "core/engine/admission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

Device device_of(std::int64_t bytes) {
  Device device = small_device();
  device.memory = Bytes{bytes};
  return device;
}

/// Applications of one launch of 100 ns, all four slots of the SM, with so many bytes.
Workload with_memory(const std::vector<std::int64_t>& bytes, const std::vector<std::int64_t>& arrivals = {}) {
  Workload workload = workload_of(std::vector<Launch>(bytes.size(), launch_of(4, 100)), arrivals);
  for (std::size_t i = 0; i < bytes.size(); ++i) workload.applications[i].memory = Bytes{bytes[i]};
  return workload;
}

std::int64_t arrival_of(const Trace& trace, int launch) {
  return ns(events_of(trace, EventKind::LaunchArrived, launch).front().time);
}

TEST(Admission, AnApplicationThatDoesNotFitStartsWhenAnotherEnds) {
  const Trace trace = record(device_of(100), with_memory({60, 40, 50}), "fifo");
  EXPECT_EQ(arrival_of(trace, 0), 0);
  EXPECT_EQ(arrival_of(trace, 1), 0);
  EXPECT_EQ(arrival_of(trace, 2), 100);
  EXPECT_EQ(end_of(trace, 2), 300);
}

TEST(Admission, IsInOrderOfArrival) {
  const Trace trace = record(device_of(100), with_memory({60, 50, 10}, {0, 10, 20}), "fifo");
  EXPECT_EQ(arrival_of(trace, 1), 100);
  EXPECT_EQ(arrival_of(trace, 2), 100);  // it would have fitted at 20, but came later
}

TEST(Admission, SeveralMayStartAtOnce) {
  const Trace trace = record(device_of(100), with_memory({100, 30, 70, 1}), "fifo");
  EXPECT_EQ(arrival_of(trace, 1), 100);
  EXPECT_EQ(arrival_of(trace, 2), 100);
  EXPECT_EQ(arrival_of(trace, 3), 200);
}

TEST(Admission, MemoryIsHeldFromOperationToOperation) {
  Workload workload = with_memory({60, 60});
  workload.applications[0].operations.emplace_back(copy_to_host(50));
  const Trace trace = record(device_of(100), workload, "fifo");
  EXPECT_EQ(arrival_of(trace, 2), 150);
}

TEST(Admission, TheApplicationHasArrivedWhileItWaits) {
  const Trace trace = record(device_of(100), with_memory({60, 50}, {0, 10}), "fifo");
  const auto arrived = std::ranges::find_if(trace.events, [](const Event& event) {
    return event.kind == EventKind::ApplicationArrived && event.application == static_cast<ApplicationId>(1);
  });
  EXPECT_EQ(ns(arrived->time), 10);
}

TEST(Admission, NoApplicationWaitsIfTheMemoryIsUnknown) {
  EXPECT_EQ(arrival_of(record(small_device(), with_memory({1'000'000, 1'000'000}), "fifo"), 1), 0);
}

TEST(Admission, MoreThanTheDeviceHasIsRefusedAtOnce) {
  const std::string message = message_of<InvalidInput>([] { record(device_of(100), with_memory({1, 101}), "fifo"); });
  EXPECT_THAT(message, naming("b", 101, "small", 100));
  EXPECT_THROW(record(device_of(100), with_memory({-1}), "fifo"), InvalidInput);
}

// Random memory on random devices: at no time do those who have started and not ended need more than there is.
TEST(Admission, TheDeviceIsNeverOvercommitted) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    Device device = random_device(dice);
    device.memory = Bytes{100};
    Workload workload = random_workload(dice, device, 8);
    for (Application& each : workload.applications) each.memory = Bytes{dice.between(0, 100)};
    const Trace trace = record(device, workload, "effisha-static", seed);
    std::vector<bool> holds(8, false);
    for (const Event& event : trace.events) {
      if (event.kind == EventKind::LaunchArrived || event.kind == EventKind::CopyStarted) {
        holds[index(event.application)] = true;
      }
      if (event.kind == EventKind::ApplicationEnded) holds[index(event.application)] = false;
      std::int64_t held = 0;
      for (std::size_t id = 0; id < 8; ++id) held += holds[id] ? workload.applications[id].memory.count : 0;
      ASSERT_LE(held, 100);
    }
  }
}

}  // namespace
}  // namespace gpushare
