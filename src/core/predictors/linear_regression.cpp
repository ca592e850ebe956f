// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/linear_regression.hpp"

#include <Eigen/Dense>
#include <cmath>

namespace gpushare {

std::optional<Duration> LinearRegression::runtime(std::int64_t blocks) const {
  if (ends_.size() < 2) return std::nullopt;
  const auto samples = static_cast<Eigen::Index>(ends_.size());
  Eigen::MatrixX2d blocks_ended(samples, 2);
  Eigen::VectorXd ends(samples);
  for (Eigen::Index sample = 0; sample < samples; ++sample) {
    blocks_ended.row(sample) << 1, static_cast<double>(sample + 1);
    ends(sample) = nanoseconds(ends_[static_cast<std::size_t>(sample)]);
  }
  const Eigen::Vector2d line = blocks_ended.colPivHouseholderQr().solve(ends);
  return Duration(std::llround(line(0) + line(1) * static_cast<double>(blocks)));
}

}  // namespace gpushare
