// SPDX-License-Identifier: Apache-2.0
#include "core/calibration/transfer_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

/// 1 KB to 256 MB at 50 GB/s after 9 us.
std::vector<TransferPoint> copies() {
  std::vector<TransferPoint> points;
  for (double bytes = 1024; bytes <= 1 << 28; bytes *= 2) points.push_back({bytes, 9000 + bytes / 50});
  return points;
}

TEST(FitTransfer, FindsLatencyAndBandwidthAgain) {
  const TransferFit fit = fit_transfer(copies());
  EXPECT_NEAR(fit.ns_per_byte, 1.0 / 50, 1e-9);
  EXPECT_NEAR(fit.latency_ns, 9000, 1e-3);
  for (const double residual : fit.residuals) EXPECT_NEAR(residual, 0, 1e-9);
}

TEST(FitTransfer, ASingleOutlierCountsForNothing) {
  std::vector<TransferPoint> points = copies();
  points[5].nanoseconds *= 3;
  const TransferFit fit = fit_transfer(points);
  EXPECT_NEAR(fit.latency_ns, 9000, 1);
  EXPECT_NEAR(fit.residuals[5], 1.0 / 3 - 1, 1e-3);
}

TEST(FitTransfer, LatencyIsNeverNegative) {
  std::vector<TransferPoint> points;
  for (double bytes = 1024; bytes < 1e6; bytes *= 2) points.push_back({bytes, std::pow(bytes, 1.2)});
  EXPECT_GE(fit_transfer(points).latency_ns, 0);
}

TEST(FitTransfer, TwoSizesAreNeeded) {
  EXPECT_THROW(fit_transfer({}), InvalidInput);
  EXPECT_THROW(fit_transfer(std::vector<TransferPoint>{{1024, 9000}, {1024, 9100}}), InvalidInput);
  EXPECT_THROW(fit_transfer(std::vector<TransferPoint>{{1024, 9000}, {2048, 0}}), InvalidInput);
}

}  // namespace
}  // namespace gpushare
