// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/linear_regression.hpp"

#include <cmath>

#include "core/model/errors.hpp"

namespace gpushare {

void LinearRegression::add_end(Duration since_first_start, std::int64_t blocks) {
  const auto before = static_cast<double>(samples_);
  const auto more = static_cast<double>(blocks);
  samples_ += blocks;
  const double later = nanoseconds(since_first_start) - mean_end_;
  mean_end_ += later * more / static_cast<double>(samples_);
  // The numbers of the new blocks lie (before + more) / 2 above those before, in the mean.
  co_moment_ += later * before * more / 2;
}

std::optional<Duration> LinearRegression::runtime(std::int64_t blocks) const {
  if (samples_ < 2) return std::nullopt;
  const auto count = static_cast<double>(samples_);
  const double mean_number = (count + 1) / 2;
  const double number_moment = count * (count * count - 1) / 12;  // of the numbers 1 to count
  const double slope = co_moment_ / number_moment;
  const double runtime = mean_end_ + slope * (static_cast<double>(blocks) - mean_number);
  require(std::abs(runtime) < 0x1p63, "a line through these ends predicts more than 2^63 ns");
  return Duration(std::llround(runtime));
}

}  // namespace gpushare
