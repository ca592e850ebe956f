// SPDX-License-Identifier: Apache-2.0
#include "core/placement_support/work_alone.hpp"

#include <gtest/gtest.h>

#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(WorkAlone, DevicesOfOneNameNeedNotBeAlike) {
  const Device small = small_device(1);
  const Device large = small_device(2);
  const Workload on_small = workload_of({launch_of(8, 100)});
  const Workload on_large = on_small;
  WorkAlone work;
  EXPECT_DOUBLE_EQ(work.total({.device = &small, .workload = &on_small, .can_run = {true}}, ApplicationId{}), 200);
  EXPECT_DOUBLE_EQ(work.total({.device = &large, .workload = &on_large, .can_run = {true}}, ApplicationId{}), 100);
}

}  // namespace
}  // namespace gpushare
