// SPDX-License-Identifier: Apache-2.0
#include "core/placement_support/live_placement.hpp"

#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "placed_run.hpp"

namespace gpushare {
namespace {

using namespace test;

Launch computing(std::int64_t blocks = 64) {
  Launch launch = launch_of(blocks, 1000, "computing");
  launch.kernel.cost.issue = Duration(500);
  return launch;
}

Launch streaming(std::int64_t blocks = 64) {
  Launch launch = launch_of(blocks, 1000, "streaming");
  launch.kernel.cost.off_sm = Bytes{500};
  return launch;
}

/// Applications that come one after the other.
class LiveArrivals {
 public:
  explicit LiveArrivals(std::string placement, std::int64_t memory = 0)
      : devices_(small_devices(2, memory)), placement_(std::move(placement)) {
    for (Device& each : devices_) {
      each.sms = 4;
      each.off_sm.dram = {4e9};
    }
  }

  int come(const std::optional<Launch>& launch, std::int64_t memory = 0) {
    LiveApplication& added = applications_.emplace_back();
    added.name = "app-" + std::to_string(applications_.size());
    added.memory = {memory};
    if (launch) added.first_launch.assign(devices_.size(), launch);
    return place();
  }

  /// It can run on this device only.
  int come_for(std::size_t device, const Launch& launch) {
    LiveApplication& added = applications_.emplace_back();
    added.first_launch.resize(devices_.size());
    added.first_launch[device] = launch;
    return place();
  }

 private:
  int place() {
    std::vector<const Device*> devices;
    for (const Device& each : devices_) devices.push_back(&each);
    applications_.back().device = place_live(devices, applications_, placement_).back();
    return static_cast<int>(index(*applications_.back().device));
  }

  std::vector<Device> devices_;
  std::string placement_;
  std::vector<LiveApplication> applications_;
};

TEST(LivePlacement, FirstFitFillsADeviceBeforeTheNext) {
  LiveArrivals arrivals("first-fit", 100);
  EXPECT_EQ(arrivals.come(std::nullopt, 60), 0);
  EXPECT_EQ(arrivals.come(std::nullopt, 60), 1);
  EXPECT_EQ(arrivals.come(std::nullopt, 40), 0);
}

TEST(LivePlacement, LeastLoadedTakesTurnsWhereNothingIsKnown) {
  LiveArrivals arrivals("least-loaded");
  for (const int device : {0, 1, 0, 1}) EXPECT_EQ(arrivals.come(std::nullopt), device);
}

TEST(LivePlacement, PredictedPutsTogetherWhatNeedsDifferentThings) {
  LiveArrivals arrivals("predicted");
  const int first = arrivals.come(computing());
  EXPECT_NE(arrivals.come(streaming()), first);
  EXPECT_NE(arrivals.come(computing()), first);
  EXPECT_EQ(arrivals.come(streaming()), first);
}

TEST(LivePlacement, ShortAndLongLaunchesCountAlike) {
  LiveArrivals arrivals("predicted");
  const int first = arrivals.come(computing(64));
  EXPECT_NE(arrivals.come(computing(64'000)), first);
  const int third = arrivals.come(streaming(64));
  EXPECT_NE(arrivals.come(streaming(64'000)), third);
}

TEST(LivePlacement, WhatIsTooSmallToInterfereIsSpreadAllTheSame) {
  LiveArrivals arrivals("predicted");
  const int first = arrivals.come(computing(1));
  EXPECT_NE(arrivals.come(streaming(1)), first);
}

TEST(LivePlacement, PredictedIsLeastLoadedUnlessAllAreProfiled) {
  LiveArrivals arrivals("predicted");
  Launch unknown = computing();
  unknown.kernel.is_profiled = false;
  EXPECT_EQ(arrivals.come(unknown), 0);
  EXPECT_EQ(arrivals.come(computing()), 1);
  EXPECT_EQ(arrivals.come(computing()), 0);
}

TEST(LivePlacement, GoesWhereItCanRun) {
  for (const char* placement : {"first-fit", "least-loaded", "predicted"}) {
    LiveArrivals arrivals(placement);
    EXPECT_EQ(arrivals.come_for(1, computing()), 1) << placement;
  }
}

TEST(LivePlacement, RefusesWhatNoDeviceHasRoomFor) {
  LiveArrivals arrivals("predicted", 100);
  EXPECT_THROW(arrivals.come(computing(), 101), InvalidInput);
  LiveArrivals full("least-loaded", 100);
  full.come(std::nullopt, 60);
  full.come(std::nullopt, 60);
  EXPECT_THROW(full.come(std::nullopt, 50), InvalidInput);
}

TEST(LivePlacement, SeveralCanComeTogether) {
  std::vector<Device> devices = small_devices(2, 100);
  const std::vector<const Device*> both{&devices[0], &devices[1]};
  std::vector<LiveApplication> applications(3);
  for (LiveApplication& each : applications) each.memory = {60};
  EXPECT_THROW(place_live(both, applications, "predicted"), InvalidInput);
  applications.pop_back();
  const std::vector<DeviceId> chosen = place_live(both, applications, "predicted");
  EXPECT_NE(chosen[0], chosen[1]);
}

TEST(LivePlacement, RefusesAnUnknownPlacement) {
  LiveArrivals arrivals("best");
  EXPECT_THROW(arrivals.come(std::nullopt), InvalidInput);
}

}  // namespace
}  // namespace gpushare
