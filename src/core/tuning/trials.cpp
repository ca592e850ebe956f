// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/trials.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gpushare {
namespace {

constexpr std::size_t remembered = 3;

}  // namespace

const Measurement* Trial::typical() const {
  if (measured.empty()) return nullptr;
  std::vector<const Measurement*> sorted;
  for (const Measurement& each : measured) sorted.push_back(&each);
  std::ranges::sort(sorted, {}, &Measurement::value);
  const Measurement* median = sorted[(sorted.size() - 1) / 2];
  return measured.back().value > median->value ? &measured.back() : median;
}

double Trial::value() const {
  const Measurement* found = typical();
  return found != nullptr ? found->value : std::numeric_limits<double>::lowest();
}

void Trials::add(const Division& division, const Outlook& seen, double value) {
  auto trial = std::ranges::find_if(trials_, [&](const Trial& each) { return same_division(each.division, division); });
  if (trial == trials_.end()) trial = trials_.insert(trial, Trial{.division = division});
  trial->measured.push_back({.seen = seen, .value = value});
  if (trial->measured.size() > remembered) trial->measured.erase(trial->measured.begin());
}

void Trials::give_up(const Division& division) {
  if (!knows(division)) trials_.push_back({.division = division});
}

const Trial* Trials::find(const Division& division) const {
  const auto found =
      std::ranges::find_if(trials_, [&](const Trial& each) { return same_division(each.division, division); });
  return found == trials_.end() ? nullptr : &*found;
}

double Trials::value_of(const Division& division) const {
  const Trial* trial = find(division);
  return trial != nullptr ? trial->value() : std::numeric_limits<double>::lowest();
}

bool Trials::needs_a_third(const Division& division, double difference) const {
  const Trial* trial = find(division);
  return trial != nullptr && trial->measured.size() == 2 &&
         std::abs(trial->measured.front().value - trial->measured.back().value) > difference;
}

const Trial& Trials::best() const { return *std::ranges::max_element(trials_, {}, &Trial::value); }

const Trial* Trials::best_of(const std::function<bool(const Division&)>& kind) const {
  const Trial* best = nullptr;
  for (const Trial& trial : trials_) {
    if (trial.measured.empty() || !kind(trial.division)) continue;
    if (best == nullptr || trial.value() > best->value()) best = &trial;
  }
  return best;
}

}  // namespace gpushare
