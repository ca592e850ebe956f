// SPDX-License-Identifier: Apache-2.0
// Even SM partitioning (CD-search section 3.1): every running launch gets an equal number of whole SMs, in the order of
// their applications, so that an application's next launch finds its part where the last one had it.
//
// Suits: launches that all scale with SMs. Fails: a launch that saturates the memory keeps SMs it cannot use, and
// SMs idle behind a launch with fewer blocks than room.
#include <algorithm>

#include "core/engine/policy.hpp"
#include "core/partitioning/sm_partition.hpp"

namespace gpushare {
namespace {

class Even : public Policy {
 public:
  Plan decide(const State& state) const override {
    // With more launches than SMs the latest ones wait until a part is free.
    const auto sms = static_cast<std::size_t>(state.sms());
    std::vector<const RunningLaunch*> launches;
    for (const RunningLaunch& launch : state.running().first(std::min(state.running().size(), sms))) {
      launches.push_back(&launch);
    }
    std::ranges::stable_sort(launches, {}, &RunningLaunch::application);
    const std::vector<int> parts = even_parts(launches.size(), state.sms());
    Plan plan;
    int first = 0;
    for (std::size_t part = 0; part < launches.size(); ++part) {
      std::vector<int> quota(sms, 0);
      std::fill_n(quota.begin() + first, parts[part], launches[part]->max_residency);
      plan.shares.push_back({.launch = launches[part]->id, .quota = Quota::per_sm(std::move(quota))});
      first += parts[part];
    }
    return plan;
  }
};

}  // namespace

std::unique_ptr<Policy> make_even(const PolicyOptions& /*options*/) { return std::make_unique<Even>(); }

}  // namespace gpushare
