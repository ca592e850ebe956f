// SPDX-License-Identifier: Apache-2.0
// Even SM partitioning (CD-search section 3.1): every running launch gets an equal number of whole SMs, in the order of
// their applications, so that an application's next launch finds its part where the last one had it.
//
// Suits: launches that all scale with SMs. Fails: a launch that saturates the memory keeps SMs it cannot use, and
// SMs idle behind a launch with fewer blocks than room.
#include <algorithm>

#include "core/policy.hpp"

namespace gpushare {
namespace {

class Even : public Policy {
 public:
  Plan decide(const State& state) const override {
    const auto sms = static_cast<std::size_t>(state.sms());
    const std::size_t parts = std::min(state.running().size(), sms);
    Plan plan;
    // With more launches than SMs the latest ones wait for a part to become free.
    std::vector<const RunningLaunch*> launches;
    for (const RunningLaunch& launch : state.running().first(parts)) launches.push_back(&launch);
    std::ranges::stable_sort(launches, {}, &RunningLaunch::application);
    for (std::size_t part = 0; part < parts; ++part) {
      const RunningLaunch& launch = *launches[part];
      std::vector<int> quota(sms, 0);
      const auto first = quota.begin() + static_cast<std::ptrdiff_t>(part * sms / parts);
      const auto last = quota.begin() + static_cast<std::ptrdiff_t>((part + 1) * sms / parts);
      std::fill(first, last, launch.max_residency);
      plan.shares.push_back({.launch = launch.id, .quota = Quota::per_sm(std::move(quota))});
    }
    return plan;
  }
};

}  // namespace

std::unique_ptr<Policy> make_even(const PolicyOptions& /*options*/) { return std::make_unique<Even>(); }

}  // namespace gpushare
