// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/speed_estimate.hpp"

#include <algorithm>
#include <utility>

#include "core/tuning/tuning.hpp"

namespace gpushare {

bool SpeedEstimate::keeps(const Bounds& bounds) const { return min_speed_ratio >= 1 && antt <= bounds.antt; }

double SpeedEstimate::value(const Bounds& bounds) const {
  if (min_speed_ratio < 1) return Tuning::value_below_min_speed + min_speed_ratio;
  if (antt > bounds.antt) return std::max(Tuning::value_above_antt - antt, Tuning::value_below_min_speed / 2);
  return throughput + Tuning::weight_of_slowest * slowest;
}

double ratio_to_min_speed(double speed, const Contender& contender) {
  return speed / std::max(contender.min_speed, Tuning::least_speed);
}

std::size_t furthest_below_min_speed(const SpeedEstimate& estimate, std::span<const Contender> contenders) {
  std::vector<double> ratios;
  for (std::size_t kernel = 0; kernel < contenders.size(); ++kernel) {
    ratios.push_back(ratio_to_min_speed(estimate.speeds[kernel], contenders[kernel]));
  }
  return static_cast<std::size_t>(std::ranges::min_element(ratios) - ratios.begin());
}

SpeedEstimate estimate_from(std::vector<double> speeds, std::span<const Contender> contenders) {
  SpeedEstimate estimate{.speeds = std::move(speeds), .min_speed_ratio = std::numeric_limits<double>::infinity()};
  const double count = static_cast<double>(contenders.size());
  double mean_weight = 0;
  for (const Contender& each : contenders) mean_weight += each.weight / count;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    estimate.throughput += contenders[i].weight / mean_weight * estimate.speeds[i];
    estimate.antt += 1 / estimate.speeds[i] / count;
    estimate.min_speed_ratio =
        std::min(estimate.min_speed_ratio, ratio_to_min_speed(estimate.speeds[i], contenders[i]));
  }
  estimate.slowest = *std::ranges::min_element(estimate.speeds);
  return estimate;
}

}  // namespace gpushare
