// SPDX-License-Identifier: Apache-2.0
// How the engine carries out what a placement decides.
#include "core/engine/devices/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "messages.hpp"
#include "placements/placed_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

/// The first application changes its device when the others have ended; those are on the second device.
ScriptedPlacement moving_the_first() {
  return ScriptedPlacement([](const PlacementState& state) {
    if (state.present.size() == 1) return std::vector<int>{1};
    std::vector<int> devices(state.present.size(), 1);
    devices.front() = 0;
    return devices;
  });
}

Workload two(std::size_t launches, std::int64_t ns, std::int64_t until_ns) {
  return {.name = "two",
          .applications = {in_sequence("mover", launch_of(4, ns), launches),
                           in_sequence("other", launch_of(4, until_ns), 1)}};
}

TEST(Placement, AnApplicationIsMovedBetweenTwoLaunches) {
  ScriptedPlacement placement = moving_the_first();
  const auto devices = small_devices(2);
  const Workload workload = with_bytes(two(4, 100, 150), {30, 0});
  const Trace trace = record_placed(devices, workload, placement);
  // At 150 its second launch runs and the third is announced, which ends at 300; 30 bytes take 30 ns.
  EXPECT_THAT(stays_of(trace, 0, devices), ElementsAre(Stayed{0, 0, 300}, Stayed{1, 330, 430}));
}

TEST(Placement, AnApplicationWithoutAnotherLaunchIsNotMoved) {
  ScriptedPlacement placement = moving_the_first();
  const auto devices = small_devices(2);
  EXPECT_THAT(stays_of(record_placed(devices, two(3, 100, 150), placement), 0, devices),
              ElementsAre(Stayed{0, 0, 300}));
}

TEST(Placement, AMoveWaitsForMemory) {
  const auto devices = small_devices(2, 100);
  // The third has the memory of the second device until 500.
  ScriptedPlacement placement([](const PlacementState& state) {
    std::vector<int> to;
    for (const PresentApplication& each : state.present)
      to.push_back(each.id != ApplicationId{} || state.present.size() < 3);
    return to;
  });
  Workload workload = two(6, 100, 150);
  workload.applications.push_back(in_sequence("third", launch_of(4, 350), 1));
  workload = with_bytes(std::move(workload), {30, 0, 80});
  const Trace trace = record_placed(devices, workload, placement);
  EXPECT_EQ(stays_of(trace, 0, devices).front().end, 600);  // its sixth launch is its last: the third ended at 500
}

TEST(Placement, ALaunchThatWaitsInHardwareIsNotLeftBehind) {
  ScriptedPlacement placement = moving_the_first();
  std::vector<Device> devices = small_devices(2);
  for (Device& each : devices) each.delays.follow = Duration(5);
  const Workload workload = two(4, 100, 150);
  const Trace trace = record_placed(devices, workload, placement);
  // The third launch had been announced when the second one began.
  EXPECT_THAT(stays_of(trace, 0, devices), ElementsAre(Stayed{0, 0, 310}, Stayed{1, 310, 410}));
}

TEST(Placement, AnApplicationThatHasNotStartedIsPlacedAnewAtOnce) {
  const auto devices = small_devices(2, 100);
  ScriptedPlacement placement([](const PlacementState& state) {
    return state.present.size() == 3 ? std::vector<int>{0, 1, 0} : std::vector<int>(state.present.size(), 1);
  });
  const Workload workload =
      with_bytes(workload_of({launch_of(4, 500), launch_of(4, 100), launch_of(4, 50)}), {80, 80, 80});
  const Trace trace = record_placed(devices, workload, placement);
  EXPECT_THAT(stays_of(trace, 2, devices), ElementsAre(Stayed{0, 0, 100}, Stayed{1, 100, 150}));
}

TEST(Placement, SeesWhatHasEnded) {
  std::vector<PresentApplication> seen;
  ScriptedPlacement placement([&](const PlacementState& state) {
    if (state.now == Time(Duration(250))) seen = state.present;
    return std::vector<int>(state.present.size(), 0);
  });
  const auto devices = small_devices(2);
  Workload workload = workload_of({launch_of(4, 100), launch_of(1, 10)}, {0, 250});
  workload.applications[0] = in_sequence("first", launch_of(8, 60), 3);  // each takes 120 ns
  record_placed(devices, workload, placement);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].ended_operations, 2U);
  EXPECT_DOUBLE_EQ(seen[0].part_ended, 0);
  EXPECT_EQ(seen[0].due_operations, 1U);  // it is the last one
  EXPECT_TRUE(seen[0].has_memory);
  EXPECT_FALSE(seen[1].device.has_value());
}

TEST(Placement, WhatNoDeviceCanRunIsRefusedBeforeAnythingRuns) {
  const Workload workload = with_bytes(workload_of({launch_of(1, 100), launch_of(1, 100)}), {50, 200});
  EXPECT_THAT(message_of<InvalidInput>([&] { record_placed(small_devices(2, 100), workload, "first-fit"); }),
              naming("b", 200, 100, "none of the other devices"));
}

TEST(Placement, APlacementOnADeviceThatIsNotThereIsABug) {
  ScriptedPlacement placement([](const PlacementState&) { return std::vector<int>{2}; });
  EXPECT_THROW(record_placed(small_devices(2), workload_of({launch_of(1, 100)}), placement), std::logic_error);
}

}  // namespace
}  // namespace gpushare
