// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/search.hpp"

#include <algorithm>
#include <cmath>

namespace gpushare {
namespace {

/// Vectors of two kernels that are tried one by one; where there are more, every other one (or fewer).
constexpr int most_vectors = 120;
/// What a division has to promise beyond one that is simpler.
constexpr double worth_it = 1.01;
/// For the cautious.
constexpr double worth_unequal_parts = 1.2;
constexpr double worth_sharing = 1.3;
constexpr double least_gain = 1e-6;

bool promises_more(const Outlook& one, const Outlook& simpler, double factor, const Bounds& bounds) {
  if (!one.keeps(bounds) || !simpler.keeps(bounds)) return one.value(bounds) > simpler.value(bounds);
  return one.throughput > factor * simpler.throughput;
}

class Search {
 public:
  Search(const Forecast& forecast, const Bounds& bounds) : forecast_(forecast), bounds_(bounds) {}

  Choice best_vector() {
    if (contenders().size() == 2) {
      try_grid();
    } else {
      try_starts();
    }
    climb_vector();
    return best_;
  }

  /// From an equal number of SMs for each, with some for the best vector or without, and from that vector on all SMs.
  Choice best_counts() {
    const Choice vector = best_vector();
    Choice best = vector;
    const std::size_t parts = contenders().size();
    if (static_cast<int>(parts) > forecast_.device().sms) return best;
    best_ = {};
    value_ = -std::numeric_limits<double>::infinity();
    const Division equal = equal_parts(forecast_.device(), contenders());
    if (!vector.division.empty()) {
      Division mixed = equal;
      mixed.push_back({.sms = 0, .blocks = vector.division.front().blocks});
      climb_counts(mixed);
      for (SmGroup& group : mixed) group.sms = 0;
      mixed.back().sms = forecast_.device().sms;
      climb_counts(mixed);
    }
    climb_counts(equal);
    if (vector.division.empty() || promises_more(best_.outlook, vector.outlook, worth_it, bounds_)) best = best_;
    std::erase_if(best.division, [](const SmGroup& group) { return group.sms == 0; });
    return best;
  }

  /// From the proportional one and those that favour somebody: a tenth of the questions of best_vector().
  Choice likely_vector() {
    try_starts();
    climb_vector();
    return best_;
  }

  Choice equal() {
    try_division(equal_parts(forecast_.device(), contenders()));
    return best_;
  }

  Choice best_parts() {
    climb_counts(equal_parts(forecast_.device(), contenders()));
    std::erase_if(best_.division, [](const SmGroup& group) { return group.sms == 0; });
    return best_;
  }

 private:
  std::span<const Contender> contenders() const { return forecast_.contenders(); }

  /// Keeps the best; says whether this is it.
  bool try_division(const Division& division) {
    if (questions_ >= most_questions) return false;
    ++questions_;
    const Outlook* outlook = forecast_.ask(division);
    if (outlook == nullptr) return false;
    const double value = outlook->value(bounds_);
    if (value <= value_ + least_gain) return false;
    value_ = value;
    best_ = {.division = division, .outlook = *outlook};
    return true;
  }

  bool try_vector(const std::vector<int>& blocks) {
    if (std::ranges::min(blocks) < 1 || !can_share_an_sm(forecast_.device(), contenders(), blocks)) return false;
    return try_division({{.sms = forecast_.device().sms, .blocks = blocks}});
  }

  void try_grid() {
    const int first_most = contenders()[0].max_residency;
    const int second_most = contenders()[1].max_residency;
    const int step = std::max(1, static_cast<int>(std::ceil(std::sqrt(0.5 * first_most * second_most / most_vectors))));
    for (int first = 1; first <= first_most; first += step) {
      for (int second = 1; second <= second_most; second += step) try_vector({first, second});
      std::vector<int> full{first, 1};
      if (!can_share_an_sm(forecast_.device(), contenders(), full)) break;
      while (can_share_an_sm(forecast_.device(), contenders(), std::vector<int>{first, full[1] + 1})) ++full[1];
      try_vector(full);
    }
  }

  /// The proportional one, and for each of them one in which he has all that the others can do without.
  void try_starts() {
    const Division proportional = proportional_division(forecast_.device(), contenders());
    if (proportional.size() == 1) try_vector(proportional.front().blocks);
    for (std::size_t favoured = 0; favoured < contenders().size(); ++favoured) {
      std::vector<int> blocks(contenders().size(), 1);
      while (can_share_an_sm(forecast_.device(), contenders(), blocks)) ++blocks[favoured];
      --blocks[favoured];
      fill(forecast_.device(), contenders(), blocks);
      try_vector(blocks);
    }
  }

  void climb_vector() {
    for (bool better = !best_.division.empty(); better;) {
      better = false;
      const std::vector<int> from = best_.division.front().blocks;
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

  /// As many blocks less of `from` as one more of `to` needs, and as many more of that as fit then.
  std::vector<int> exchanged(std::vector<int> blocks, std::size_t from, std::size_t to) const {
    ++blocks[to];
    do --blocks[from];
    while (blocks[from] > 0 && !can_share_an_sm(forecast_.device(), contenders(), blocks));
    do ++blocks[to];
    while (can_share_an_sm(forecast_.device(), contenders(), blocks));
    --blocks[to];
    return blocks;
  }

  /// Moves SMs from one group to another, many at first.
  void climb_counts(const Division& start) {
    const Choice before = best_;
    const double value_before = value_;
    best_ = {};
    value_ = -std::numeric_limits<double>::infinity();
    try_division(start);
    for (int step = std::max(1, forecast_.device().sms / 4); step >= 1 && !best_.division.empty(); step /= 2) {
      while (move_sms(step)) {
      }
    }
    if (value_ > value_before) return;
    best_ = before;
    value_ = value_before;
  }

  bool move_sms(int step) {
    const Division from = best_.division;
    bool better = false;
    for (std::size_t giver = 0; giver < from.size(); ++giver) {
      if (from[giver].sms < step) continue;
      for (std::size_t taker = 0; taker < from.size(); ++taker) {
        if (taker == giver) continue;
        Division moved = from;
        moved[giver].sms -= step;
        moved[taker].sms += step;
        better |= try_division(moved);
      }
    }
    return better;
  }

  const Forecast& forecast_;
  Bounds bounds_;
  Choice best_;
  double value_ = -std::numeric_limits<double>::infinity();
  int questions_ = 0;
};

}  // namespace

Choice best_division(const Forecast& forecast, const Bounds& bounds) { return Search(forecast, bounds).best_counts(); }

Choice cautious_division(const Forecast& forecast, const Bounds& bounds) {
  if (static_cast<int>(forecast.contenders().size()) > forecast.device().sms) return best_division(forecast, bounds);
  Choice best = Search(forecast, bounds).equal();
  const auto take_if_worth = [&](Choice other, double factor) {
    const bool is_worth_it = promises_more(other.outlook, best.outlook, factor, bounds);
    if (!other.division.empty() && is_worth_it) best = std::move(other);
  };
  take_if_worth(Search(forecast, bounds).best_parts(), worth_unequal_parts);
  take_if_worth(Search(forecast, bounds).likely_vector(), worth_sharing);
  return best;
}

Choice best_vector(const Forecast& forecast, const Bounds& bounds) { return Search(forecast, bounds).best_vector(); }

}  // namespace gpushare
