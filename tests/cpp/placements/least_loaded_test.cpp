// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placed_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

// Four blocks fill the device, so a launch of 4 takes as long as a block, and one of 8 twice as long.
TEST(LeastLoaded, TakesTheDeviceWithTheLeastWork) {
  const auto devices = small_devices(2);
  const Workload workload = workload_of({launch_of(4, 100), launch_of(8, 150), launch_of(4, 150), launch_of(4, 40)});
  EXPECT_THAT(first_devices(record_placed(devices, workload, "least-loaded"), devices, 4), ElementsAre(0, 1, 0, 0));
}

TEST(LeastLoaded, CountsWhatIsLeft) {
  const auto devices = small_devices(2);
  // At 90 the first device has 10 ns left, and the second one 40 of its launch in four rounds.
  const Workload workload =
      workload_of({launch_of(4, 100), launch_of(16, 30), launch_of(4, 20), launch_of(4, 5)}, {0, 0, 90, 90});
  EXPECT_THAT(first_devices(record_placed(devices, workload, "least-loaded"), devices, 4), ElementsAre(0, 1, 1, 1));
}

TEST(LeastLoaded, CopiesAreWork) {
  const auto devices = small_devices(2);
  Workload workload = workload_of({launch_of(4, 100), launch_of(4, 50), launch_of(4, 10)});
  workload.applications[0].operations.insert(workload.applications[0].operations.begin(), copy_to_device(300));
  workload.applications[1].operations.insert(workload.applications[1].operations.begin(), copy_to_device(500));
  EXPECT_THAT(first_devices(record_placed(devices, workload, "least-loaded"), devices, 3), ElementsAre(0, 1, 0));
}

TEST(LeastLoaded, MemoryComesFirst) {
  const auto devices = small_devices(2, 100);
  const Workload workload =
      with_bytes(workload_of({launch_of(4, 100), launch_of(4, 10), launch_of(4, 10)}), {10, 95, 20});
  EXPECT_THAT(first_devices(record_placed(devices, workload, "least-loaded"), devices, 3), ElementsAre(0, 1, 0));
}

}  // namespace
}  // namespace gpushare
