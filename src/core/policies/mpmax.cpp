// SPDX-License-Identifier: Apache-2.0
// Just-in-time MPMax (SRTF section 5.2.2): every launch sets aside, on every SM, room for one block of an imagined
// kernel that is as demanding in each resource as the most demanding of the others. Order of arrival beyond that.
// Launches that start together know of each other before the first block is dispatched.
//
// Suits: a short launch behind one with very long blocks, since its place is kept free. Fails: one block per SM is
// little, and whoever came first keeps the rest.
#include "core/policy.hpp"
#include "core/predictors/oracle.hpp"
#include "core/residency.hpp"

namespace gpushare {
namespace {

BlockFootprint most_demanding(const BlockFootprint& left, const BlockFootprint& right) {
  return {.threads = std::max(left.threads, right.threads),
          .warps = std::max(left.warps, right.warps),
          .registers = std::max(left.registers, right.registers),
          .shared_memory_bytes = std::max(left.shared_memory_bytes, right.shared_memory_bytes)};
}

class MpMax : public Policy {
 public:
  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) {
      plan.shares.push_back({.launch = launch.id, .quota = Quota::everywhere(limit(launch, state))});
    }
    return plan;
  }

 private:
  static int limit(const RunningLaunch& launch, const State& state) {
    const auto others = others_than(launch, state);
    if (others.empty()) return launch.max_residency;
    BlockFootprint reserved;
    for (const Launch* other : others) {
      reserved = most_demanding(reserved, footprint(state.device(), other->kernel.needs));
    }
    SmRoom room(state.device().per_sm);
    room.take(reserved);
    // Where both together do not fit, one block each in turn is the nearest to a reservation.
    return std::clamp(room.count(footprint(state.device(), launch.launch->kernel.needs)), 1, launch.max_residency);
  }

  static std::vector<const Launch*> others_than(const RunningLaunch& launch, const State& state) {
    std::vector<const Launch*> others = state.first_launches_arriving_within(together(state.device()));
    for (const RunningLaunch& other : state.running()) {
      if (other.id != launch.id) others.push_back(other.launch);
    }
    return others;
  }
};

}  // namespace

std::unique_ptr<Policy> make_mpmax(const PolicyOptions& /*options*/) { return std::make_unique<MpMax>(); }

}  // namespace gpushare
