// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/trials.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gpushare {
namespace {

constexpr std::size_t remembered = 3;

}  // namespace

double Trial::value() const {
  if (values.empty()) return std::numeric_limits<double>::lowest();
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  return std::max(sorted[(sorted.size() - 1) / 2], values.back());
}

void Trials::add(const Division& division, const Outlook& seen, double value) {
  auto trial = std::ranges::find_if(trials_, [&](const Trial& each) { return same_division(each.division, division); });
  if (trial == trials_.end()) trial = trials_.insert(trial, Trial{.division = division, .seen = {}});
  trial->seen = seen;
  trial->values.push_back(value);
  if (trial->values.size() > remembered) trial->values.erase(trial->values.begin());
}

void Trials::give_up(const Division& division) {
  if (!knows(division)) trials_.push_back({.division = division, .seen = {}});
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
  return trial != nullptr && trial->values.size() == 2 &&
         std::abs(trial->values.front() - trial->values.back()) > difference;
}

const Trial& Trials::best() const { return *std::ranges::max_element(trials_, {}, &Trial::value); }

const Trial* Trials::best_of(bool shared) const {
  const Trial* best = nullptr;
  for (const Trial& trial : trials_) {
    if (is_shared(trial.division) != shared) continue;
    if (best == nullptr || trial.value() > best->value()) best = &trial;
  }
  return best;
}

bool is_shared(const Division& division) { return division.size() == 1; }

}  // namespace gpushare
