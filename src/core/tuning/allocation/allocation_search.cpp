// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/allocation_search.hpp"

#include <algorithm>
#include <cmath>

namespace gpushare {
namespace {

bool promises_more(const SpeedEstimate& one, const SpeedEstimate& simpler, double factor, const Bounds& bounds) {
  if (!one.keeps(bounds) || !simpler.keeps(bounds)) return one.value(bounds) > simpler.value(bounds);
  return one.throughput > factor * simpler.throughput;
}

class Search {
 public:
  Search(const ContentionModel& model, const Bounds& bounds) : model_(model), bounds_(bounds) {}

  AllocationChoice best_vector() {
    if (contenders().size() == 2) {
      try_grid();
    } else {
      try_starts();
    }
    climb_vector();
    return best_;
  }

  /// From an equal number of SMs for each, with some for the best vector or without, and from that vector on all SMs.
  AllocationChoice best_counts() {
    const AllocationChoice vector = best_vector();
    AllocationChoice best = vector;
    const std::size_t parts = contenders().size();
    if (static_cast<int>(parts) > model_.device().sms) return best;
    best_ = {};
    value_ = -std::numeric_limits<double>::infinity();
    const SmAllocation equal = equal_partition(model_.device(), contenders());
    if (!vector.allocation.empty()) {
      SmAllocation mixed = equal;
      mixed.push_back({.sms = 0, .blocks = vector.allocation.front().blocks});
      climb_counts(mixed);
      for (SmGroup& group : mixed) group.sms = 0;
      mixed.back().sms = model_.device().sms;
      climb_counts(mixed);
    }
    climb_counts(equal);
    if (vector.allocation.empty() || promises_more(best_.estimate, vector.estimate, Tuning::gain_of_groups, bounds_))
      best = best_;
    std::erase_if(best.allocation, [](const SmGroup& group) { return group.sms == 0; });
    return best;
  }

  /// From the proportional vector and those that favour one kernel: a tenth of the evaluations of best_vector().
  AllocationChoice likely_vector() {
    try_starts();
    climb_vector();
    return best_;
  }

  AllocationChoice equal() {
    try_allocation(equal_partition(model_.device(), contenders()));
    return best_;
  }

  AllocationChoice best_parts() {
    climb_counts(equal_partition(model_.device(), contenders()));
    std::erase_if(best_.allocation, [](const SmGroup& group) { return group.sms == 0; });
    return best_;
  }

 private:
  std::span<const Contender> contenders() const { return model_.contenders(); }

  /// Keeps the best allocation. Is it this one?
  bool try_allocation(const SmAllocation& allocation) {
    if (evaluations_ >= Tuning::most_evaluations) return false;
    ++evaluations_;
    const SpeedEstimate* estimate = model_.remembered_estimate(allocation);
    if (estimate == nullptr) return false;
    const double value = estimate->value(bounds_);
    if (value <= value_ + Tuning::least_gain) return false;
    value_ = value;
    best_ = {.allocation = allocation, .estimate = *estimate};
    return true;
  }

  bool try_vector(const std::vector<int>& blocks) {
    if (std::ranges::min(blocks) < 1 || !can_share_an_sm(model_.device(), contenders(), blocks)) return false;
    return try_allocation({{.sms = model_.device().sms, .blocks = blocks}});
  }

  void try_grid() {
    const int first_most = contenders()[0].max_residency;
    const int second_most = contenders()[1].max_residency;
    const int step =
        std::max(1, static_cast<int>(std::ceil(std::sqrt(0.5 * first_most * second_most / Tuning::most_vectors))));
    for (int first = 1; first <= first_most; first += step) {
      for (int second = 1; second <= second_most; second += step) try_vector({first, second});
      std::vector<int> full{first, 1};
      if (!can_share_an_sm(model_.device(), contenders(), full)) break;
      while (can_share_an_sm(model_.device(), contenders(), std::vector<int>{first, full[1] + 1})) ++full[1];
      try_vector(full);
    }
  }

  /// The proportional vector, and for each kernel one with as many of its blocks as fit beside one block of each other.
  void try_starts() {
    const SmAllocation proportional = proportional_allocation(model_.device(), contenders());
    if (proportional.size() == 1) try_vector(proportional.front().blocks);
    for (std::size_t favoured = 0; favoured < contenders().size(); ++favoured) {
      std::vector<int> blocks(contenders().size(), 1);
      while (can_share_an_sm(model_.device(), contenders(), blocks)) ++blocks[favoured];
      --blocks[favoured];
      fill(model_.device(), contenders(), blocks);
      try_vector(blocks);
    }
  }

  void climb_vector() {
    for (bool better = !best_.allocation.empty(); better;) {
      better = false;
      const std::vector<int> from = best_.allocation.front().blocks;
      for (std::size_t i = 0; i < from.size(); ++i) {
        for (const int step : {-1, 1}) {
          std::vector<int> blocks = from;
          blocks[i] += step;
          better |= try_vector(blocks);
          for (std::size_t j = 0; step < 0 && j < from.size(); ++j) {
            if (j != i) better |= try_vector(exchanged(from, i, j));
          }
        }
      }
    }
  }

  /// Removes as many blocks of `from` as one more block of `to` needs, then adds all of `to` that fit.
  std::vector<int> exchanged(std::vector<int> blocks, std::size_t from, std::size_t to) const {
    ++blocks[to];
    do --blocks[from];
    while (blocks[from] > 0 && !can_share_an_sm(model_.device(), contenders(), blocks));
    do ++blocks[to];
    while (can_share_an_sm(model_.device(), contenders(), blocks));
    --blocks[to];
    return blocks;
  }

  /// Moves SMs from one group to another, in steps that are halved.
  void climb_counts(const SmAllocation& start) {
    const AllocationChoice before = best_;
    const double value_before = value_;
    best_ = {};
    value_ = -std::numeric_limits<double>::infinity();
    try_allocation(start);
    for (int step = std::max(1, model_.device().sms / 4); step >= 1 && !best_.allocation.empty(); step /= 2) {
      while (move_sms(step)) {
      }
    }
    if (value_ > value_before) return;
    best_ = before;
    value_ = value_before;
  }

  bool move_sms(int step) {
    const SmAllocation from = best_.allocation;
    bool better = false;
    for (std::size_t giver = 0; giver < from.size(); ++giver) {
      if (from[giver].sms < step) continue;
      for (std::size_t taker = 0; taker < from.size(); ++taker) {
        if (taker == giver) continue;
        SmAllocation moved = from;
        moved[giver].sms -= step;
        moved[taker].sms += step;
        better |= try_allocation(moved);
      }
    }
    return better;
  }

  const ContentionModel& model_;
  Bounds bounds_;
  AllocationChoice best_;
  double value_ = -std::numeric_limits<double>::infinity();
  int evaluations_ = 0;
};

}  // namespace

AllocationChoice best_allocation(const ContentionModel& model, const Bounds& bounds) {
  return Search(model, bounds).best_counts();
}

AllocationChoice conservative_allocation(const ContentionModel& model, const Bounds& bounds) {
  if (static_cast<int>(model.contenders().size()) > model.device().sms) return best_allocation(model, bounds);
  AllocationChoice best = Search(model, bounds).equal();
  const auto take_if_worth = [&](AllocationChoice other, double factor) {
    const bool is_worth_it = promises_more(other.estimate, best.estimate, factor, bounds);
    if (!other.allocation.empty() && is_worth_it) best = std::move(other);
  };
  take_if_worth(Search(model, bounds).best_parts(), model.device().tuning.gain_of_unequal_parts);
  take_if_worth(Search(model, bounds).likely_vector(), model.device().tuning.gain_of_sharing);
  return best;
}

AllocationChoice best_vector(const ContentionModel& model, const Bounds& bounds) {
  return Search(model, bounds).best_vector();
}

}  // namespace gpushare
