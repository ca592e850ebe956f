// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_rates/off_sm_bandwidth.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/kernel_rates/corun.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

/// 24 SMs that a kernel of `bytes` per block of 1 us, four at a time, asks for 4 * bytes per microsecond each.
Device device_with_24_sms() {
  Device device = small_device(24);
  device.off_sm = {.noc = {1000e9}, .llc = {800e9}, .dram = {200e9}};
  return device;
}

Kernel kernel_moving(std::int64_t bytes, double llc_hit_ratio) {
  Kernel kernel = launch_of(1, 1000).kernel;
  kernel.cost.off_sm = Bytes{bytes};
  kernel.cost.llc_hit_ratio = llc_hit_ratio;
  return kernel;
}

TEST(OffSmBandwidth, Equation1InBytesPerSecond) {
  // 2 instructions per cycle, one access to a line of 128 bytes per 50 instructions, 1 GHz.
  const Bandwidth demand = demand_per_sm({.most_instructions_per_cycle = 2, .per_kilo_instruction = 20}, 1e9);
  EXPECT_DOUBLE_EQ(demand.bytes_per_second, 2 * 0.02 * 128 * 1e9);
}

TEST(OffSmBandwidth, DemandByProfileIsTheTrafficOfOneFullSm) {
  EXPECT_NEAR(demand_per_sm(device_with_24_sms(), kernel_moving(1000, 0)).bytes_per_second, 4e9, 1);
}

TEST(OffSmBandwidth, Equation2WeighsCacheAndMemoryByHits) {
  const OffSmBandwidth off_sm = device_with_24_sms().off_sm;
  EXPECT_DOUBLE_EQ(off_sm_supply(off_sm, 1).bytes_per_second, 800e9);
  EXPECT_DOUBLE_EQ(off_sm_supply(off_sm, 0).bytes_per_second, 100e9);
  EXPECT_DOUBLE_EQ(off_sm_supply(off_sm, 0, 1.0).bytes_per_second, 200e9);
  EXPECT_DOUBLE_EQ(off_sm_supply(off_sm, 0.25).bytes_per_second, 0.25 * 800e9 + 0.75 * 100e9);
}

TEST(OffSmBandwidth, TheNocLimitsTheSupply) {
  EXPECT_DOUBLE_EQ(off_sm_supply({.noc = {50e9}, .llc = {800e9}, .dram = {200e9}}, 0.5).bytes_per_second, 50e9);
}

TEST(OffSmBandwidth, WhereNothingIsLimitedEverythingIsSupplied) {
  EXPECT_TRUE(std::isinf(off_sm_supply({}, 0.5).bytes_per_second));
  EXPECT_DOUBLE_EQ(off_sm_supply({.dram = {200e9}}, 0).bytes_per_second, 100e9);
}

TEST(OffSmBandwidth, EqualityIsComputeBound) {
  const Device device = device_with_24_sms();
  const double share = 100e9 / device.sms;  // of half the memory's bandwidth
  EXPECT_EQ(intensity_by_off_sm_model(device, {share}, 0), BoundBy::Compute);
  EXPECT_EQ(intensity_by_off_sm_model(device, {share * 1.001}, 0), BoundBy::Memory);
}

TEST(OffSmBandwidth, AKernelThatFillsTheCacheIsMemoryBoundAlthoughItsMemoryIsIdle) {
  // As LAVAMD: 24 SMs ask for 960 GB/s, the cache gives 800, and nothing misses.
  const Kernel kernel = kernel_moving(10'000, 1);
  EXPECT_EQ(intensity_by_off_sm_model(device_with_24_sms(), kernel), BoundBy::Memory);
  EXPECT_EQ(dram_utilisation(device_with_24_sms(), kernel), 0);
}

TEST(OffSmBandwidth, UtilisationIsWhatAllSmsUseOfTheMemory) {
  EXPECT_NEAR(dram_utilisation(device_with_24_sms(), kernel_moving(1000, 0.5)), 24 * 4e9 * 0.5 / 200e9, 1e-9);
  EXPECT_NEAR(dram_utilisation(device_with_24_sms(), kernel_moving(10'000, 0)), 1, 1e-9);
  EXPECT_EQ(dram_utilisation(small_device(24), kernel_moving(10'000, 0)), 0);
}

TEST(OffSmBandwidth, SaturationIsWhereTheMemoryIsFull) {
  // 5000 bytes: 20 GB/s for each SM, so ten of them fill the memory, and 95 % of that are reached with 9.5.
  EXPECT_EQ(saturating_sms(device_with_24_sms(), kernel_moving(5000, 0)), 10);
  EXPECT_EQ(saturating_sms(device_with_24_sms(), kernel_moving(5000, 0), 0.45), 5);
  EXPECT_EQ(intensity_by_scaling(device_with_24_sms(), kernel_moving(5000, 0)), BoundBy::Memory);
}

TEST(OffSmBandwidth, AKernelThatGainsFromNearlyAllSmsIsComputeBound) {
  EXPECT_EQ(saturating_sms(device_with_24_sms(), kernel_moving(0, 0)), 23);  // 95 % of 24 SMs
  EXPECT_EQ(intensity_by_scaling(device_with_24_sms(), kernel_moving(0, 0)), BoundBy::Compute);
  // It fills the memory with 22 SMs, which is later than 75 % of them.
  EXPECT_EQ(intensity_by_scaling(device_with_24_sms(), kernel_moving(2270, 0)), BoundBy::Compute);
}

TEST(OffSmBandwidth, ScalingAgreesWithWhereItSaturates) {
  for (const int bytes : {0, 500, 1500, 2000, 2500, 2600, 2700, 2800, 2900, 3000, 4000, 9000}) {
    const Kernel kernel = kernel_moving(bytes, 0);
    const bool is_early = saturating_sms(device_with_24_sms(), kernel) < early_sms * 24;
    EXPECT_EQ(intensity_by_scaling(device_with_24_sms(), kernel) == BoundBy::Memory, is_early) << bytes;
  }
}

}  // namespace
}  // namespace gpushare
