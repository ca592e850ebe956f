// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/drain_errors.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

namespace gpushare {

void DrainErrors::add(std::vector<DrainError> launch) {
  if (launch.empty()) return;
  std::vector<DrainError> all;
  std::ranges::merge(latest_, launch, std::back_inserter(all), {}, &DrainError::done, &DrainError::done);
  latest_ = std::move(launch);
  both_.clear();
  for (const DrainError& each : all) {
    if (!both_.empty() && both_.back().done == each.done) {
      both_.back().factor = std::midpoint(both_.back().factor, each.factor);
    } else {
      both_.push_back(each);
    }
  }
}

double DrainErrors::factor(double done) const {
  if (both_.empty()) return 1;
  const auto after = std::ranges::lower_bound(both_, done, {}, &DrainError::done);
  if (after == both_.begin()) return both_.front().factor;
  if (after == both_.end()) return both_.back().factor;
  const DrainError& before = *std::prev(after);
  const double way = (done - before.done) / (after->done - before.done);
  return std::lerp(before.factor, after->factor, way);
}

}  // namespace gpushare
