// SPDX-License-Identifier: Apache-2.0
// Just-in-time MPMax (SRTF section 5.2.2): every launch reserves, on every SM, room for one block of an imagined kernel
// that is as demanding in each resource as the most demanding of the others. Order of arrival beyond that. Launches
// that start together know of each other before the first block is dispatched.
//
// Suits: a short launch behind one with very long blocks, since room for it is reserved. Fails: one block per SM is
// little, and the earlier launch has the rest.
#include "core/engine/policy.hpp"
#include "core/model/residency.hpp"
#include "core/predictors/oracle.hpp"

namespace gpushare {
namespace {

template <typename Integer>
class TwoLargest {
 public:
  void add(Integer value) {
    second_ = std::max(second_, std::min(value, first_));
    first_ = std::max(value, first_);
  }
  /// The largest value once one occurrence of this one is removed.
  Integer without(Integer value) const { return value == first_ ? second_ : first_; }

 private:
  Integer first_ = 0;
  Integer second_ = 0;
};

/// The needs of the blocks of many launches, by resource.
class Demands {
 public:
  void add(const BlockFootprint& block) {
    threads_.add(block.threads);
    warps_.add(block.warps);
    registers_.add(block.registers);
    shared_memory_bytes_.add(block.shared_memory_bytes);
  }
  /// The largest demand of any other launch.
  BlockFootprint without(const BlockFootprint& block) const {
    return {.threads = threads_.without(block.threads),
            .warps = warps_.without(block.warps),
            .registers = registers_.without(block.registers),
            .shared_memory_bytes = shared_memory_bytes_.without(block.shared_memory_bytes)};
  }

 private:
  TwoLargest<int> threads_;
  TwoLargest<int> warps_;
  TwoLargest<int> registers_;
  TwoLargest<std::int64_t> shared_memory_bytes_;
};

class MpMax : public Policy {
 public:
  Plan decide(const State& state) const override {
    const Device& device = state.device();
    const auto foreseen = state.first_launches_arriving_within(together(device));
    Demands demands;
    std::vector<BlockFootprint> running;
    for (const Launch* launch : foreseen) demands.add(footprint(device, launch->kernel.needs));
    for (const RunningLaunch& launch : state.running()) {
      running.push_back(footprint(device, launch.launch->kernel.needs));
      demands.add(running.back());
    }
    const bool is_alone = foreseen.size() + running.size() == 1;
    Plan plan;
    for (std::size_t place = 0; place < running.size(); ++place) {
      const RunningLaunch& launch = state.running()[place];
      const int limit = is_alone ? launch.max_residency : limited(launch, running[place], demands, device);
      plan.shares.push_back({.launch = launch.id, .quota = Quota::everywhere(limit), .leaves_rest = !is_alone});
    }
    return plan;
  }

 private:
  static int limited(const RunningLaunch& launch, const BlockFootprint& block, const Demands& demands,
                     const Device& device) {
    SmRoom room(device.per_sm);
    room.take(demands.without(block));
    // Where both together do not fit, alternating single blocks are the nearest to a reservation.
    return std::clamp(room.count(block), 1, launch.max_residency);
  }
};

}  // namespace

std::unique_ptr<Policy> make_mpmax(const PolicyOptions& /*options*/) { return std::make_unique<MpMax>(); }

}  // namespace gpushare
