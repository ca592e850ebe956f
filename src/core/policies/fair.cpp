// SPDX-License-Identifier: Apache-2.0
// Weighted fair sharing of SM time. SMs are split in proportion to weights, so that no application waits for a time
// slice and no SM changes hands while the set of applications stays the same. What rounding, gaps and arrivals make
// unequal is corrected: the policy tracks each application's virtual time (SM time / weight), and an application that
// is behind the mean has more SMs until the next period, between half and twice its part, and not more than it has
// blocks for. Where there are more applications than SMs, the least served have them. Applications with an owner share
// the part that the owner's weight gives them, in proportion to their weights: ten applications of one owner have
// together what one of another owner has.
//
// Options: period_ns=2e6, how often parts are adjusted; patience_ns=60_000, how long a part is reserved between
// launches.
//
// Suits: applications that were promised a part of the SMs. Fails: SMs are shared fairly, speeds are not, as an
// application that saturates the memory slows all others; and dedicated SMs seldom give the highest throughput.
#include "core/engine/policy.hpp"
#include "core/policy_support/options.hpp"
#include "core/tuning/allocation/fair_allocation.hpp"

namespace gpushare {
namespace {

class Fair : public Policy {
 public:
  Fair(Duration period, Duration patience) : period_(period), active_(patience), allocation_(period) {}

  void observe(const Event& event, const State& state) override {
    active_.observe(event, state);
    allocation_.observe(event, state);
    if (wants(event) && !state.running().empty()) allocation_.update(state, active_);
  }

  bool wants(const Event& event) const override {
    return Policy::wants(event) || event.kind == EventKind::ApplicationEnded;
  }

  Plan decide(const State& state) const override {
    Plan plan;
    const std::vector<SmPart>& parts = allocation_.parts();
    std::size_t first = 0;
    for (const SmPart& part : parts) {
      for (const RunningLaunch& launch : state.running()) {
        if (launch.application != part.application) continue;
        plan.shares.push_back({.launch = launch.id, .quota = quota(launch, first, part, parts.size(), state)});
      }
      first += static_cast<std::size_t>(part.sms);
    }
    if (parts.size() == 1 && state.running().size() == 1) return plan;
    plan.wake_at = state.now() + period_;
    if (const auto loss = active_.next_expiry(state.now())) plan.wake_at = std::min(*loss, *plan.wake_at);
    return plan;
  }

 private:
  static Quota quota(const RunningLaunch& launch, std::size_t first, const SmPart& part, std::size_t parts,
                     const State& state) {
    if (parts == 1) return full_quota(launch);
    std::vector<int> blocks(static_cast<std::size_t>(state.sms()), 0);
    const auto begin = blocks.begin() + static_cast<std::ptrdiff_t>(first);
    std::fill(begin, begin + part.sms, launch.max_residency);
    return Quota::per_sm(std::move(blocks));
  }

  Duration period_;
  ActiveApplications active_;
  FairAllocation allocation_;
};

}  // namespace

std::unique_ptr<Policy> make_fair(const PolicyOptions& options) {
  return std::make_unique<Fair>(
      options.duration("period_ns", "how often the SM parts are corrected", Duration(2'000'000), Duration(10'000),
                       Duration(1'000'000'000'000)),
      options.duration("patience_ns", "how long a place is kept between two launches of an application",
                       Duration(60'000), Duration(0), Duration(1'000'000'000)));
}

}  // namespace gpushare
