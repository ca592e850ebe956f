// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placed_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

TEST(FirstFit, TakesTheFirstDeviceWithEnoughMemory) {
  const auto devices = small_devices(3, 100);
  const Workload workload = with_bytes(workload_of(std::vector<Launch>(5, launch_of(4, 100))), {60, 60, 40, 70, 40});
  EXPECT_THAT(first_devices(record_placed(devices, workload, "first-fit"), devices, 5), ElementsAre(0, 1, 0, 2, 1));
}

TEST(FirstFit, WithoutLimitsAllAreOnTheFirst) {
  const auto devices = small_devices(2);
  const Workload workload = workload_of(std::vector<Launch>(3, launch_of(4, 100)));
  EXPECT_THAT(first_devices(record_placed(devices, workload, "first-fit"), devices, 3), ElementsAre(0, 0, 0));
}

TEST(FirstFit, AnApplicationThatFitsNowhereWaitsAndGoesWhereRoomIsFirst) {
  const auto devices = small_devices(2, 100);
  const Workload workload =
      with_bytes(workload_of({launch_of(4, 500), launch_of(4, 100), launch_of(4, 50)}), {80, 80, 80});
  const Trace trace = record_placed(devices, workload, "first-fit");
  EXPECT_THAT(stays_of(trace, 2, devices), ElementsAre(Stayed{0, 0, 100}, Stayed{1, 100, 150}));
}

TEST(FirstFit, ADeviceThatIsTooSmallForAnApplicationIsLeftOut) {
  std::vector<Device> devices = small_devices(2, 100);
  devices[0].memory = Bytes{50};
  const Workload workload = with_bytes(workload_of({launch_of(4, 100)}), {80});
  EXPECT_THAT(first_devices(record_placed(devices, workload, "first-fit"), devices, 1), ElementsAre(1));
}

}  // namespace
}  // namespace gpushare
