// SPDX-License-Identifier: Apache-2.0
// The weights of applications that have owners: an owner's weight is divided among its active applications in
// proportion to theirs, so that ten applications of one owner weigh no more than one of another.
#pragma once

#include <span>
#include <vector>

#include "core/engine/state.hpp"

namespace gpushare {

/// An application and the weight that it has asked for.
struct OwnWeight {
  ApplicationId application{};
  double weight = 1;
};

/// The weight of each among all of these. An application without an owner keeps the weight that it has asked for.
std::vector<double> weights_among_owners(std::span<const OwnWeight> present, const State& state);

}  // namespace gpushare
