// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/linear_regression.hpp"

#include <Eigen/Dense>
#include <cmath>

namespace gpushare {

std::optional<Duration> LinearRegression::runtime(std::int64_t blocks) const {
  if (samples_ < 2) return std::nullopt;
  Eigen::MatrixX2d blocks_ended(samples_, 2);
  blocks_ended.col(0).setOnes();
  blocks_ended.col(1).setLinSpaced(1, static_cast<double>(samples_));
  Eigen::VectorXd ends(samples_);
  Eigen::Index first = 0;
  for (const End& end : ends_) {
    ends.segment(first, end.blocks).setConstant(nanoseconds(end.since_first_start));
    first += end.blocks;
  }
  const Eigen::Vector2d line = blocks_ended.colPivHouseholderQr().solve(ends);
  return Duration(std::llround(line(0) + line(1) * static_cast<double>(blocks)));
}

}  // namespace gpushare
