// SPDX-License-Identifier: Apache-2.0
#include "core/calibration/kernel_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/model/errors.hpp"
#include "sample_devices.hpp"

namespace gpushare {
namespace {

using namespace test;

constexpr OffSmBandwidth fitted_off_sm{.llc = {5.5e12}, .dram = {3e12}, .delay = {.linear = 0.6, .saturating = 0.15}};

/// The points of a profile: 132 SMs, eight blocks on each, as many SMs and as many blocks as there are.
std::vector<RatePoint> curves_of(const BlockFigures& block) {
  std::vector<RatePoint> points;
  for (const int sms : {1, 2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 132}) {
    points.push_back({sms, 8, steady_rate(block, sms, 8, fitted_off_sm)});
  }
  for (int residency = 1; residency < 8; ++residency) {
    points.push_back({132, residency, steady_rate(block, 132, residency, fitted_off_sm)});
  }
  return points;
}

BlockTraffic counted(const BlockFigures& block) {
  return {.cache_bytes = block.cache_bytes, .dram_bytes = block.dram_bytes, .memory = block.memory};
}

const BlockFigures streaming{
    .latency = 550, .issue = 35, .memory = 270, .cache_bytes = 3050, .dram_bytes = 3000, .misses = 3000.0 / 3050};
const BlockFigures computing{
    .latency = 150'000, .issue = 60'000, .memory = 8000, .cache_bytes = 12'000, .dram_bytes = 400, .misses = 1.0 / 30};

TEST(FitKernel, FindsAStreamingKernelAgain) {
  const KernelFit fit = fit_kernel(curves_of(streaming), counted(streaming), fitted_off_sm);
  EXPECT_NEAR(fit.block.latency, streaming.latency, 0.01 * streaming.latency);
  EXPECT_NEAR(fit.block.issue, streaming.issue, 0.1 * streaming.issue);
  EXPECT_NEAR(fit.block.memory, streaming.memory, 0.05 * streaming.memory);
  EXPECT_NEAR(fit.block.dram_bytes, streaming.dram_bytes, 0.02 * streaming.dram_bytes);
  EXPECT_THAT(fit.residuals, testing::Each(testing::DoubleNear(0, 0.002)));
}

TEST(FitKernel, FindsAComputingKernelAgain) {
  const KernelFit fit = fit_kernel(curves_of(computing), counted(computing), fitted_off_sm);
  EXPECT_NEAR(fit.block.latency, computing.latency, 0.01 * computing.latency);
  EXPECT_NEAR(fit.block.issue, computing.issue, 0.01 * computing.issue);
  EXPECT_THAT(fit.residuals, testing::Each(testing::DoubleNear(0, 0.002)));
}

TEST(FitKernel, FindsKernelsAgainThroughNoise) {
  Dice dice(7);
  for (const BlockFigures& block : {streaming, computing}) {
    std::vector<RatePoint> points = curves_of(block);
    for (RatePoint& point : points) point.blocks_per_ns *= 1 + 0.02 * (2 * dice.ratio() - 1);
    const KernelFit fit = fit_kernel(points, counted(block), fitted_off_sm);
    EXPECT_NEAR(fit.block.latency, block.latency, 0.04 * block.latency);
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_LT(std::abs(fit.residuals[i]), 0.05) << points[i].sms << " x " << points[i].residency;
    }
  }
}

TEST(FitKernel, CountersMayBeWrongWhereCurvesKnowBetter) {
  // A kernel whose accesses cost DRAM a fourth more than their bytes.
  BlockTraffic traffic = counted(streaming);
  traffic.dram_bytes /= 1.25;
  const KernelFit fit = fit_kernel(curves_of(streaming), traffic, fitted_off_sm);
  EXPECT_NEAR(fit.block.dram_bytes, streaming.dram_bytes, 0.05 * streaming.dram_bytes);
}

TEST(FitKernel, ResidualsAreModelOverMeasured) {
  std::vector<RatePoint> points = curves_of(computing);
  points.push_back({132, 8, 2 * steady_rate(computing, 132, 8, fitted_off_sm), 0});
  const KernelFit fit = fit_kernel(points, counted(computing), fitted_off_sm);
  EXPECT_NEAR(fit.residuals.back(), -0.5, 0.002) << "a point without weight changes nothing";
}

TEST(FitKernel, WithoutCountersCurvesAlone) {
  const KernelFit fit = fit_kernel(curves_of(computing), {}, fitted_off_sm);
  EXPECT_NEAR(fit.block.issue, computing.issue, 0.02 * computing.issue);
}

TEST(FitKernel, RefusesWhatIsNoCurve) {
  EXPECT_THROW(fit_kernel({}, {}, fitted_off_sm), InvalidInput);
  EXPECT_THROW(fit_kernel(std::vector<RatePoint>{{1, 1, 0}}, {}, fitted_off_sm), InvalidInput);
  EXPECT_THROW(fit_kernel(std::vector<RatePoint>{{0, 1, 1}}, {}, fitted_off_sm), InvalidInput);
  EXPECT_THROW(fit_kernel(std::vector<RatePoint>{{1, 1, 1, -1}}, {}, fitted_off_sm), InvalidInput);
}

}  // namespace
}  // namespace gpushare
