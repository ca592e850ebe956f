// SPDX-License-Identifier: Apache-2.0
#include "core/calibration/transfer_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

constexpr double trimmed = 0.1;
constexpr int most_rounds = 20;

/// Slope and intercept, each point's row divided by its time. Where no copy takes time by itself, b is zero.
Eigen::Vector2d line_through(std::span<const TransferPoint> points) {
  Eigen::MatrixX2d rows(static_cast<Eigen::Index>(points.size()), 2);
  for (Eigen::Index row = 0; row < rows.rows(); ++row) {
    const TransferPoint& point = points[static_cast<std::size_t>(row)];
    rows.row(row) << point.bytes / point.nanoseconds, 1 / point.nanoseconds;
  }
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(rows.rows());
  const Eigen::Vector2d line = rows.colPivHouseholderQr().solve(ones);
  if (line(1) >= 0) return line;
  return {rows.col(0).dot(ones) / rows.col(0).squaredNorm(), 0};
}

double error(const Eigen::Vector2d& line, const TransferPoint& point) {
  return (line(0) * point.bytes + line(1)) / point.nanoseconds - 1;
}

}  // namespace

TransferFit fit_transfer(std::span<const TransferPoint> points) {
  for (const TransferPoint& point : points) {
    require(std::isfinite(point.bytes) && point.bytes > 0 && std::isfinite(point.nanoseconds) && point.nanoseconds > 0,
            "a copy needs a positive size and time, got " + std::to_string(point.bytes) + " bytes in " +
                std::to_string(point.nanoseconds) + " ns");
  }
  require(std::ranges::any_of(points, [&](const auto& point) { return point.bytes != points.front().bytes; }),
          "the transfer model needs copies of two sizes at least");
  std::vector<TransferPoint> kept(points.begin(), points.end());
  const auto keep = static_cast<std::ptrdiff_t>(std::ceil(static_cast<double>(points.size()) * (1 - trimmed)));
  Eigen::Vector2d line = line_through(kept);
  for (int round = 0; round < most_rounds; ++round) {
    kept.assign(points.begin(), points.end());
    std::ranges::stable_sort(kept, {}, [&](const TransferPoint& point) { return std::abs(error(line, point)); });
    kept.resize(static_cast<std::size_t>(std::max<std::ptrdiff_t>(keep, 2)));
    const Eigen::Vector2d next = line_through(kept);
    if (next.isApprox(line, 1e-12)) break;
    line = next;
  }
  TransferFit fit{.ns_per_byte = line(0), .latency_ns = line(1)};
  for (const TransferPoint& point : points) fit.residuals.push_back(error(line, point));
  return fit;
}

}  // namespace gpushare
