// SPDX-License-Identifier: Apache-2.0
#include "core/engine/devices/without_moves.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpushare {
namespace {

/// Everything goes to the last device; remembers what it was told.
class LastDevice : public Placement {
 public:
  explicit LastDevice(std::vector<PresentApplication>& told) : told_(told) {}
  std::vector<DeviceId> decide(const PlacementState& state) override {
    told_ = state.present;
    return std::vector(state.present.size(), static_cast<DeviceId>(state.devices.size() - 1));
  }

 private:
  std::vector<PresentApplication>& told_;
};

TEST(WithoutMoves, WhatHasMemoryStaysWithAllItsOperations) {
  const Device device{.name = "device", .sms = 1};
  Workload workload{.name = "two"};
  for (const char* name : {"first", "second"}) {
    workload.applications.push_back({.name = name, .operations = std::vector<Operation>(5, Copy{})});
  }
  const std::vector<PlacementDevice> devices(3, {.device = &device, .workload = &workload, .can_run = {true, true}});
  PlacementState state{.devices = devices};
  state.present = {{.id = ApplicationId{0}, .device = DeviceId{1}, .has_memory = true, .ended_operations = 2},
                   {.id = ApplicationId{1}}};
  std::vector<PresentApplication> told;
  WithoutMoves placement(std::make_unique<LastDevice>(told));
  EXPECT_THAT(placement.decide(state), testing::ElementsAre(DeviceId{1}, DeviceId{2}));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].due_operations, 3u);
  EXPECT_EQ(told[1].due_operations, 0u);
}

}  // namespace
}  // namespace gpushare
