// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/outlook.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// Below every division that keeps the bounds.
constexpr double above_antt = -1e6;
constexpr double below_floor = -1e12;
/// Of two divisions of about the same worth, the one that is kinder to the slowest: 1 % of throughput for half a speed.
constexpr double kindness = 0.02;
/// Side by side means that nobody stands still, whatever he weighs.
constexpr double least_speed = 0.01;

}  // namespace

bool Outlook::keeps(const Bounds& bounds) const {
  return slowest >= std::max(bounds.floor, least_speed) && antt <= bounds.antt;
}

double Outlook::value(const Bounds& bounds) const {
  if (slowest < std::max(bounds.floor, least_speed)) return below_floor + slowest;
  if (antt > bounds.antt) return std::max(above_antt - antt, below_floor / 2);
  return throughput + kindness * slowest;
}

Forecast::Forecast(const Device& device, std::span<const Contender> contenders)
    : device_(device), contenders_(contenders) {
  double sum = 0;
  for (const Contender& each : contenders) sum += each.weight;
  for (const Contender& each : contenders) {
    kernels_.push_back(each.kernel);
    alone_.push_back(rate_alone(device, *each.kernel));
    weights_.push_back(each.weight / sum * static_cast<double>(contenders.size()));
  }
}

Outlook Forecast::of(const Division& division) const {
  const std::vector<double> rates = corun_rates(device_, kernels_, division);
  Outlook outlook;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    outlook.speeds.push_back(rates[i] / alone_[i]);
    outlook.throughput += weights_[i] * outlook.speeds[i];
    outlook.antt += 1 / outlook.speeds[i] / static_cast<double>(rates.size());
  }
  outlook.slowest = *std::ranges::min_element(outlook.speeds);
  return outlook;
}

}  // namespace gpushare
