// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/outlook.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// Below every division that keeps the bounds.
constexpr double above_antt = -1e3;
constexpr double below_floor = -1e6;
/// Of two divisions of about the same worth, the one that is kinder to the slowest: 1 % of throughput for half a speed.
constexpr double kindness = 0.02;
/// Side by side means that nobody stands still, whatever he weighs, and whatever floors others have.
constexpr double standing_still = 0.01;

}  // namespace

bool Outlook::keeps(const Bounds& bounds) const { return kept >= 1 && antt <= bounds.antt; }

double Outlook::value(const Bounds& bounds) const {
  if (kept < 1) return below_floor + kept;
  if (antt > bounds.antt) return std::max(above_antt - antt, below_floor / 2);
  return throughput + kindness * slowest;
}

double kept_of_floor(double speed, const Contender& contender) {
  return speed / std::max(contender.floor, standing_still);
}

std::size_t neediest(const Outlook& outlook, std::span<const Contender> contenders) {
  std::vector<double> kept;
  for (std::size_t kernel = 0; kernel < contenders.size(); ++kernel) {
    kept.push_back(kept_of_floor(outlook.speeds[kernel], contenders[kernel]));
  }
  return static_cast<std::size_t>(std::ranges::min_element(kept) - kept.begin());
}

Outlook outlook_of(std::vector<double> speeds, std::span<const Contender> contenders) {
  Outlook outlook{.speeds = std::move(speeds), .kept = std::numeric_limits<double>::infinity()};
  const double count = static_cast<double>(contenders.size());
  double mean_weight = 0;
  for (const Contender& each : contenders) mean_weight += each.weight / count;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    outlook.throughput += contenders[i].weight / mean_weight * outlook.speeds[i];
    outlook.antt += 1 / outlook.speeds[i] / count;
    outlook.kept = std::min(outlook.kept, kept_of_floor(outlook.speeds[i], contenders[i]));
  }
  outlook.slowest = *std::ranges::min_element(outlook.speeds);
  return outlook;
}

Forecast::Forecast(const Device& device, std::span<const Contender> contenders)
    : device_(device), contenders_(contenders) {
  for (const Contender& each : contenders) {
    kernels_.push_back(each.kernel);
    alone_.push_back(rate_alone(device, *each.kernel));
  }
}

Outlook Forecast::of(const Division& division) const {
  std::vector<double> speeds = corun_rates(device_, kernels_, division);
  for (std::size_t i = 0; i < speeds.size(); ++i) speeds[i] /= alone_[i];
  return outlook_of(std::move(speeds), contenders_);
}

const Outlook* Forecast::ask(const Division& division) const {
  std::vector<int> question;
  for (const SmGroup& group : division) {
    question.push_back(group.sms);
    question.insert(question.end(), group.blocks.begin(), group.blocks.end());
  }
  const auto answer = answers_.find(question);
  if (answer != answers_.end()) return &answer->second;
  if (allowed_ == 0) {
    has_refused_ = true;
    return nullptr;
  }
  --allowed_;
  return &answers_.emplace(std::move(question), of(division)).first->second;
}

void Forecast::allow(int questions) {
  allowed_ = questions;
  has_refused_ = false;
}

}  // namespace gpushare
