// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "placed_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::SizeIs;

/// Two blocks take all issue slots of an SM.
Launch issuing(std::int64_t blocks, std::int64_t block_time_ns) {
  Launch launch = launch_of(blocks, block_time_ns, "issuing");
  launch.kernel.cost.issue = Duration(block_time_ns / 2);
  return launch;
}

/// Two blocks on every SM take all bandwidth of the devices below.
Launch moving(std::int64_t blocks, std::int64_t block_time_ns) {
  Launch launch = launch_of(blocks, block_time_ns, "moving");
  launch.kernel.cost.off_sm = Bytes{block_time_ns / 2};
  return launch;
}

std::vector<Device> limited_devices(std::size_t count, std::int64_t memory = 0) {
  std::vector<Device> devices = small_devices(count, memory);
  for (Device& each : devices) {
    each.sms = 4;
    each.off_sm.dram = {4e9};
  }
  return devices;
}

TEST(Predicted, PutsTogetherWhatNeedsDifferentThings) {
  const auto devices = limited_devices(2);
  const Workload workload = workload_of({issuing(64, 1000), moving(64, 1000), issuing(64, 1000), moving(64, 1000)});
  const Trace trace = record_placed(devices, workload, "predicted", "even");
  const std::vector<int> first = first_devices(trace, devices, 4);
  EXPECT_NE(first[0], first[2]);
  EXPECT_NE(first[1], first[3]);
  ScriptedPlacement by_kind([](const PlacementState& state) {
    std::vector<int> to;
    for (const PresentApplication& each : state.present) to.push_back(static_cast<int>(index(each.id)) % 2);
    return to;
  });
  EXPECT_LT(length_of(trace), 0.8 * length_of(record_placed(devices, workload, by_kind, "even")));
}

TEST(Predicted, SpreadsWhatOnlyGetsInEachOthersWay) {
  const auto devices = limited_devices(4);
  const Workload workload = workload_of(std::vector<Launch>(4, issuing(64, 1000)));
  EXPECT_THAT(first_devices(record_placed(devices, workload, "predicted"), devices, 4), ElementsAre(0, 1, 2, 3));
}

TEST(Predicted, AmongEqualDevicesTheFirstApplicationIsOnTheFirst) {
  const auto devices = limited_devices(3);
  for (int count = 1; count <= 3; ++count) {
    const Workload workload = workload_of(std::vector<Launch>(static_cast<std::size_t>(count), issuing(64, 1000)));
    std::vector<int> expected(static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(first_devices(record_placed(devices, workload, "predicted"), devices, count), expected);
  }
}

TEST(Predicted, StaysWithinMemory) {
  const auto devices = limited_devices(2, 100);
  const Workload workload = with_bytes(
      workload_of({issuing(64, 1000), moving(64, 1000), issuing(64, 1000), moving(64, 1000)}), {60, 60, 30, 30});
  const std::vector<int> first = first_devices(record_placed(devices, workload, "predicted", "even"), devices, 4);
  EXPECT_NE(first[0], first[1]);
}

TEST(Predicted, ManyApplicationsArePlacedOneByOne) {
  const auto devices = limited_devices(3);
  const Workload workload = workload_of(std::vector<Launch>(12, issuing(64, 1000)));
  const std::vector<int> first = first_devices(record_placed(devices, workload, "predicted"), devices, 12);
  for (const int device : {0, 1, 2}) EXPECT_GE(std::ranges::count(first, device), 2);
}

/// The first has all memory of the second device; two with many launches are on the first one until it has ended.
struct Crowded {
  std::vector<Device> devices = limited_devices(2, 1000);
  Workload workload =
      with_bytes({.name = "crowded",
                  .applications = {in_sequence("big", issuing(16, 1000), 5), in_sequence("one", issuing(16, 1000), 40),
                                   in_sequence("other", issuing(16, 1000), 40)}},
                 {1000, 400, 400});
};

TEST(Predicted, MovesAnApplicationToADeviceThatHasBecomeFree) {
  const Crowded crowded;
  const Trace trace = record_placed(crowded.devices, crowded.workload, "predicted", "even");
  const auto one = stays_of(trace, 1, crowded.devices);
  const auto other = stays_of(trace, 2, crowded.devices);
  ASSERT_EQ(one.size() + other.size(), 3U);
  const auto& moved = one.size() == 2 ? one : other;
  EXPECT_NE(moved[0].device, moved[1].device);
  EXPECT_EQ(moved[1].begin - moved[0].end, 400);  // one byte, one nanosecond
}

TEST(Predicted, DoesNotMoveWhereThatTakesLongerThanItSaves) {
  Crowded crowded;
  for (Device& each : crowded.devices) each.to_host.bandwidth = {400.0 / 10'000'000 * 1e9};
  const Trace trace = record_placed(crowded.devices, crowded.workload, "predicted", "even");
  EXPECT_THAT(stays_of(trace, 1, crowded.devices), SizeIs(1));
  EXPECT_THAT(stays_of(trace, 2, crowded.devices), SizeIs(1));
}

TEST(Predicted, ALinkMakesAMovePay) {
  Crowded crowded;
  for (Device& each : crowded.devices) {
    each.to_host.bandwidth = {400.0 / 10'000'000 * 1e9};
    each.peer = {.latency = Duration(7), .bandwidth = {2e9}};
  }
  const Trace trace = record_placed(crowded.devices, crowded.workload, "predicted", "even");
  const auto one = stays_of(trace, 1, crowded.devices);
  const auto& moved = one.size() == 2 ? one : stays_of(trace, 2, crowded.devices);
  ASSERT_THAT(moved, SizeIs(2));
  EXPECT_EQ(moved[1].begin - moved[0].end, 207);
}

TEST(Predicted, AMoveHasToPromiseTheGain) {
  const Crowded crowded;
  const Trace trace = record_placed(crowded.devices, crowded.workload, "predicted:gain=10", "even");
  EXPECT_THAT(stays_of(trace, 1, crowded.devices), SizeIs(1));
  EXPECT_THAT(stays_of(trace, 2, crowded.devices), SizeIs(1));
}

}  // namespace
}  // namespace gpushare
