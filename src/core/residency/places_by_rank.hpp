// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "core/residency/requests_by_sm.hpp"
#include "core/residency/residency_need.hpp"

namespace gpushare {

/// How many more places each launch would have on an SM without the launches that rank behind it.
class PlacesByRank {
 public:
  PlacesByRank(const RequestsBySm& claims, std::span<const Need> needs);

  int on(std::size_t sm, std::size_t rank) const { return places_[claims_.first_like(sm) * claims_.size() + rank]; }

 private:
  void count(std::span<const Need> needs, std::size_t sm);

  const RequestsBySm& claims_;
  std::vector<int> places_;  // by the first SM of a kind, and rank
};

}  // namespace gpushare
