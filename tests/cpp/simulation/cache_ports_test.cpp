// SPDX-License-Identifier: Apache-2.0
// Requests to the cache wait on the SM that they come from (contention.hpp): who floods it holds up nobody elsewhere.
#include <gtest/gtest.h>

#include "core/kernel_rates/corun.hpp"
#include "recorded_run.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

Launch reader_of(std::int64_t bytes, int blocks, std::int64_t in_memory) {
  Launch launch = launch_of(blocks, 10'000);
  launch.kernel.cost.issue = Duration(0);
  launch.kernel.cost.memory = Duration(in_memory);
  launch.kernel.cost.off_sm = Bytes{bytes};
  return launch;
}

TEST(CachePorts, AKernelOnSmsOfItsOwnIsSimulatedAsForetoldBesideAFlood) {
  Device device = small_device(2);
  device.off_sm.llc = Bandwidth{8e9};
  device.off_sm.delay = {.linear = 0.45, .saturating = 0.25};
  const Launch modest = reader_of(1000, 8, 8000);
  const Launch flood = reader_of(100'000, 400, 500);
  const Trace trace = record(device, workload_of({modest, flood}), "even");
  const auto starts = block_starts(trace, 0);
  ASSERT_EQ(starts.size(), 8);
  ASSERT_EQ(starts[3], 0) << "four blocks fit an SM";

  const Kernel* kernels[] = {&modest.kernel, &flood.kernel};
  const SmGroup groups[] = {{1, {4, 0}}, {1, {0, 4}}};
  const double foretold = 4 / corun_rates(device, kernels, groups)[0];
  EXPECT_NEAR(static_cast<double>(starts[4]), foretold, 0.01 * foretold);
  EXPECT_GT(foretold, 10'100);
  EXPECT_LT(foretold, 11'500);
}

}  // namespace
}  // namespace gpushare
