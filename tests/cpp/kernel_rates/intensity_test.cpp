// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_rates/intensity.hpp"

#include <gtest/gtest.h>

#include "core/partitioning/slate_table.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr double titan_xp_flops_per_s = 12.15e12;
constexpr double titan_xp_bytes_per_s = 547.7e9;

struct Row {
  const char* name;
  double gflop_per_s;
  double gb_per_s;
  Intensity compute;
  Intensity memory;
  SlateClass slate;
};

/// Slate's Table II. Transpose does no arithmetic, which here is the same as nobody having counted it.
constexpr Row table_2[] = {
    {"BS", 161.3, 401.49, Intensity::Medium, Intensity::Medium, SlateClass::MediumMemory},
    {"GS", 19.6, 340.9, Intensity::Low, Intensity::Medium, SlateClass::MediumMemory},
    {"MM", 1525, 403.5, Intensity::High, Intensity::Medium, SlateClass::MediumMemory},
    {"RG", 4.2, 71.6, Intensity::Low, Intensity::Low, SlateClass::LowCompute},
    {"TR", 0.0, 568.6, Intensity::Low, Intensity::High, SlateClass::HighMemory},
};

/// 10 SMs with 4 blocks of 64 threads each, so that 40 blocks of 1000 ns run at once.
Device device_with_peaks() {
  Device device = small_device(10);
  device.off_sm.dram = Bandwidth{titan_xp_bytes_per_s};
  device.flops_per_s = titan_xp_flops_per_s;
  return device;
}

/// That draws so much from device_with_peaks(), nothing of it through DRAM, which cannot give more than its peak.
Launch launch_drawing(double gflop_per_s, double gb_per_s) {
  Launch launch = launch_of(40000, 1000);
  launch.kernel.cost.flops = gflop_per_s * 1000 / 40;
  launch.kernel.cost.off_sm = Bytes{static_cast<std::int64_t>(gb_per_s * 1000 / 40)};
  launch.kernel.cost.llc_hit_ratio = 1;
  return launch;
}

TEST(Intensity, TheLabelsOfTable2ComeOutForItsFigures) {
  for (const Row& row : table_2) {
    SCOPED_TRACE(row.name);
    const Demand demand = demand_alone(device_with_peaks(), launch_drawing(row.gflop_per_s, row.gb_per_s));
    EXPECT_NEAR(demand.flops.value_or(0), row.gflop_per_s * 1e9 / titan_xp_flops_per_s, 1e-4);
    EXPECT_NEAR(demand.memory, row.gb_per_s * 1e9 / titan_xp_bytes_per_s, 1e-3);
    EXPECT_EQ(demand.compute_intensity(), row.compute);
    EXPECT_EQ(demand.memory_intensity(), row.memory);
    EXPECT_EQ(slate_class(demand.compute_intensity(), demand.memory_intensity()), row.slate);
  }
}

TEST(Intensity, ThresholdsLieWithinTheBracketsThatTable2Leaves) {
  EXPECT_GT(flops_thresholds.medium, 19.6e9 / titan_xp_flops_per_s);
  EXPECT_LT(flops_thresholds.medium, 161.3e9 / titan_xp_flops_per_s);
  EXPECT_GT(flops_thresholds.high, 161.3e9 / titan_xp_flops_per_s);
  EXPECT_LT(flops_thresholds.high, 1525e9 / titan_xp_flops_per_s);
  EXPECT_GT(memory_thresholds.medium, 71.6e9 / titan_xp_bytes_per_s);
  EXPECT_LT(memory_thresholds.medium, 340.9e9 / titan_xp_bytes_per_s);
  EXPECT_GT(memory_thresholds.high, 403.5e9 / titan_xp_bytes_per_s);
  EXPECT_LT(memory_thresholds.high, 568.6e9 / titan_xp_bytes_per_s);
}

TEST(Intensity, WithoutOperationsOrPeakTheIssueSlotsDecide) {
  Launch launch = launch_drawing(19.6, 10);
  launch.kernel.cost.issue = Duration(240);
  Device device = device_with_peaks();
  EXPECT_EQ(demand_alone(device, launch).compute_intensity(), Intensity::Low);
  device.flops_per_s = 0;
  const Demand by_issue = demand_alone(device, launch);
  EXPECT_FALSE(by_issue.flops.has_value());
  // Four blocks that issue for 240 ns and stall for 760 keep an SM's slots busy for 0.7 to 0.96 of the time.
  EXPECT_GT(by_issue.issue, 0.7);
  EXPECT_LT(by_issue.issue, 0.96);
  EXPECT_EQ(by_issue.compute_intensity(), Intensity::High);
}

TEST(Intensity, AKernelThatFillsTheMemoryIsOfHighMemoryAndOneWithoutALimitOfLow) {
  Launch stream = launch_drawing(0, 5000);
  stream.kernel.cost.llc_hit_ratio = 0;
  Device device = device_with_peaks();
  EXPECT_NEAR(demand_alone(device, stream).memory, 1.0, 1e-6);
  EXPECT_EQ(demand_alone(device, stream).memory_intensity(), Intensity::High);
  device.off_sm.dram = {};
  EXPECT_EQ(demand_alone(device, stream).memory_intensity(), Intensity::Low);
}

}  // namespace
}  // namespace gpushare
