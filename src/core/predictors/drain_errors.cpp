// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/drain_errors.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace gpushare {

void DrainErrors::add(std::vector<DrainError> launch) {
  if (launch.empty()) return;
  both_.clear();
  std::ranges::merge(latest_, launch, std::back_inserter(both_), {}, &DrainError::done, &DrainError::done);
  latest_ = std::move(launch);
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
