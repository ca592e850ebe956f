// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/partition_search.hpp"

#include <algorithm>

#include "core/partitioning/sm_partition.hpp"

namespace gpushare {

PartitionSearch::PartitionSearch(std::vector<std::optional<BoundBy>> intensities, int sms, const SearchOptions& options)
    : intensities_(std::move(intensities)),
      sms_(sms),
      options_(options),
      even_(even_parts(intensities_.size(), sms)),
      parts_(even_) {
  const bool no_choice = even_.size() < 2 || std::ranges::min(even_) < 2;
  if (no_choice || (all_classified() && !has(BoundBy::Memory))) stage_ = Stage::Finished;
}

bool PartitionSearch::needs_rate(std::size_t application) const {
  switch (stage_) {
    case Stage::Even:
      return intensities_[application] != BoundBy::Compute;
    case Stage::Classification:
      return even_rates_[application].has_value();
    case Stage::Need:
      return needs_[application] && !needs_[application]->finished();
    default:
      return false;
  }
}

void PartitionSearch::measured(const Rates& rates) {
  if (stage_ == Stage::Even) {
    begin_classification(rates);
  } else if (stage_ == Stage::Classification) {
    test_rates_[tested_] = rates[tested_];
    intensities_[tested_] = rates[tested_] ? intensity_by_stall_test(even_[tested_], lost_together(even_rates_, rates))
                                           : BoundBy::Compute;  // no measurement
    test_next();
  } else if (stage_ == Stage::Need) {
    for (std::size_t i = 0; i < needs_.size(); ++i) {
      if (needs_rate(i) && rates[i]) needs_[i]->measured(*rates[i]);
    }
    ask_for_needs();
  }
}

bool PartitionSearch::all_classified() const {
  return std::ranges::all_of(intensities_, [](const auto& each) { return each.has_value(); });
}

bool PartitionSearch::has(BoundBy intensity) const {
  return std::ranges::find(intensities_, std::optional(intensity)) != intensities_.end();
}

void PartitionSearch::begin_classification(const Rates& rates) {
  stage_ = Stage::Classification;
  even_rates_ = rates;
  test_rates_.resize(rates.size());
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (!rates[i]) intensities_[i] = BoundBy::Compute;
  }
  test_next();
}

/// One at a time: where two give up SMs at once, each may gain from the other what it loses by itself.
void PartitionSearch::test_next() {
  parts_ = even_;
  tested_ = static_cast<std::size_t>(std::ranges::find(intensities_, std::optional<BoundBy>()) - intensities_.begin());
  if (tested_ == intensities_.size()) return begin_needs();
  parts_[tested_] = sms_in_stall_test(even_[tested_]);
}

bool PartitionSearch::leaves_idle() const {
  return options_.mode == SearchMode::Power || (options_.mode == SearchMode::Auto && !has(BoundBy::Compute));
}

void PartitionSearch::begin_needs() {
  stage_ = Stage::Need;
  needs_.resize(parts_.size());
  const bool somebody_gains = leaves_idle() || has(BoundBy::Compute);
  for (std::size_t i = 0; i < needs_.size() && somebody_gains; ++i) {
    if (intensities_[i] != BoundBy::Memory) continue;
    if (leaves_idle()) {
      needs_[i] = std::make_shared<SteppedUp>(even_[i], *even_rates_[i], options_.need);
    } else {
      const auto need = std::make_shared<SteppedDown>(even_[i], *even_rates_[i], options_.need);
      if (test_rates_[i]) need->begin_at(sms_in_stall_test(even_[i]), *test_rates_[i]);
      needs_[i] = need;
    }
  }
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

/// SMs beyond the needs go to the other applications in even parts.
void PartitionSearch::finish() {
  stage_ = Stage::Finished;
  if (leaves_idle()) return;
  int left = sms_;
  for (const auto& need : needs_) left -= need ? need->sms() : 0;
  const std::vector<int> shares = even_parts(static_cast<std::size_t>(std::ranges::count(needs_, nullptr)), left);
  auto share = shares.begin();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!needs_[i]) parts_[i] = *share++;
  }
}

}  // namespace gpushare
