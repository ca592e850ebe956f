// SPDX-License-Identifier: Apache-2.0
#include "core/policies/partition_search.hpp"

#include <algorithm>
#include <numeric>

#include "core/policies/sm_partition.hpp"

namespace gpushare {
namespace {

/// What is stalled to see whether it is missed: enough for a clear answer, and soon given back.
int quarter(int sms) { return std::max(sms / 4, 1); }

}  // namespace

PartitionSearch::PartitionSearch(std::vector<std::optional<Intensity>> intensities, int sms,
                                 const SearchOptions& options)
    : intensities_(std::move(intensities)),
      sms_(sms),
      options_(options),
      even_(even_parts(intensities_.size(), sms)),
      parts_(even_) {
  const bool no_choice = even_.size() < 2 || std::ranges::min(even_) < 2;
  if (no_choice || (all_classified() && !has(Intensity::Memory))) stage_ = Stage::Finished;
}

bool PartitionSearch::needs_rate(std::size_t application) const {
  switch (stage_) {
    case Stage::Even:
      return intensities_[application] != Intensity::Compute;
    case Stage::Classification:
      return !intensities_[application];
    case Stage::Need:
      return needs_[application] && !needs_[application]->finished();
    default:
      return false;
  }
}

void PartitionSearch::measured(std::span<const double> rates) {
  if (stage_ == Stage::Even) {
    even_rates_.assign(rates.begin(), rates.end());
    if (all_classified()) return begin_needs(rates);
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i] = even_[i] - (intensities_[i] ? 0 : quarter(even_[i]));
    stage_ = Stage::Classification;
  } else if (stage_ == Stage::Classification) {
    classify(rates);
    begin_needs(rates);
  } else if (stage_ == Stage::Need) {
    for (std::size_t i = 0; i < needs_.size(); ++i) {
      if (needs_rate(i)) needs_[i]->measured(rates[i]);
    }
    ask_for_needs();
  }
}

bool PartitionSearch::all_classified() const {
  return std::ranges::all_of(intensities_, [](const auto& each) { return each.has_value(); });
}

bool PartitionSearch::has(Intensity intensity) const {
  return std::ranges::find(intensities_, std::optional(intensity)) != intensities_.end();
}

void PartitionSearch::classify(std::span<const double> rates) {
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (intensities_[i]) continue;
    const double stalled = static_cast<double>(even_[i] - parts_[i]) / even_[i];
    const bool is_missed = rates[i] < (1 - stalled / 2) * even_rates_[i];
    intensities_[i] = is_missed ? Intensity::Compute : Intensity::Memory;
  }
}

bool PartitionSearch::leaves_idle() const {
  return options_.mode == SearchMode::Power || (options_.mode == SearchMode::Auto && !has(Intensity::Compute));
}

void PartitionSearch::begin_needs(std::span<const double> rates) {
  const bool nobody_gains = !has(Intensity::Memory) || (!leaves_idle() && !has(Intensity::Compute));
  needs_.resize(parts_.size());
  for (std::size_t i = 0; i < needs_.size() && !nobody_gains; ++i) {
    if (intensities_[i] != Intensity::Memory) continue;
    const bool is_kept = rates[i] >= (1 - options_.need.loss) * even_rates_[i];
    const int known = is_kept ? parts_[i] : even_[i];
    if (leaves_idle()) {
      needs_[i] = std::make_shared<SteppedUp>(even_[i], even_rates_[i], options_.need);
    } else {
      needs_[i] = std::make_shared<SteppedDown>(even_[i], even_rates_[i], known, options_.need);
    }
  }
  stage_ = Stage::Need;
  ask_for_needs();
}

void PartitionSearch::ask_for_needs() {
  bool finished = true;
  for (std::size_t i = 0; i < needs_.size(); ++i) {
    parts_[i] = needs_[i] ? needs_[i]->sms() : even_[i];
    finished = finished && !needs_rate(i);
  }
  if (finished) finish();
}

void PartitionSearch::finish() {
  stage_ = Stage::Finished;
  if (leaves_idle() || !has(Intensity::Compute)) return;
  int left = sms_;
  std::size_t takers = 0;
  for (const auto& need : needs_) {
    left -= need ? need->sms() : 0;
    takers += need ? 0 : 1;
  }
  const std::vector<int> shares = even_parts(takers, left);
  for (std::size_t i = 0, taker = 0; i < parts_.size(); ++i) {
    if (!needs_[i]) parts_[i] = shares[taker++];
  }
}

}  // namespace gpushare
