// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/owner_weights.hpp"

#include <map>
#include <string_view>

namespace gpushare {

std::vector<double> weights_among_owners(std::span<const OwnWeight> present, const State& state) {
  std::map<std::string_view, double> sums;
  for (const OwnWeight& each : present) sums[state.application(each.application).owner] += each.weight;
  std::vector<double> weights;
  weights.reserve(present.size());
  for (const OwnWeight& each : present) {
    const Application& application = state.application(each.application);
    const double part = application.owner.empty() ? 1 : application.owner_weight / sums.at(application.owner);
    weights.push_back(part * each.weight);
  }
  return weights;
}

}  // namespace gpushare
