// SPDX-License-Identifier: Apache-2.0
// Slate (section III.B, III.C): a launch runs beside another on dedicated SMs where Table I calls the two
// complementary, and alone otherwise (slate_queue.hpp). When a launch arrives or ends, the ranges of SMs are sized anew
// (sm_ranges.hpp). A kernel without a profile runs alone, because its class is unknown until it has been measured
// (gpushare profile).
//
// Suits: kernels with small needs beside kernels with large needs of the same resource. Fails: where launches end
// often, since each end reallocates SMs; kernels that could share SMs get none in common; and a kernel that complements
// no other waits for as long as complementary ones keep arriving.
//
// Options, where the paper is silent: sizes=throughput|balance, together=2 (launches side by side at most; the paper's
// figures are for two), queue_gets_leftover=no|yes (may queued launches use what those leave?), patience_ns=50_000 (how
// long SMs are reserved for the next launch of an application).
#include <algorithm>
#include <utility>

#include "core/engine/policy.hpp"
#include "core/partitioning/slate_queue.hpp"
#include "core/partitioning/sm_ranges.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {
namespace {

enum class SlateLeftover { StaysIdle, GoesToQueue };

class Slate : public Policy {
 public:
  Slate(SlateQueue queue, RangeGoal goal, SlateLeftover leftover)
      : queue_(std::move(queue)), ranges_(goal), leftover_(leftover) {}

  bool wants(const Event& event) const override {
    return Policy::wants(event) || event.kind == EventKind::ApplicationEnded;
  }

  void observe(const Event& event, const State& state) override {
    if (!wants(event)) return;
    queue_.observe(event, state);
    std::vector<const Launch*> launches;
    for (const SlateQueue::SlatePlace& place : queue_.places()) launches.push_back(&place.launch);
    if (launches.size() > 1) sms_ = ranges_.of(state.device(), launches);
    if (launches.size() == 1) sms_ = {state.sms()};
  }

  Plan decide(const State& state) const override {
    Plan plan{.wake_at = queue_.wake_at()};
    int first = 0;
    for (std::size_t i = 0; i < queue_.places().size(); ++i) {
      const RunningLaunch* launch = state.find(queue_.places()[i].operation);
      if (launch != nullptr)
        plan.shares.push_back({.launch = launch->id, .quota = range(*launch, first, sms_[i], state)});
      first += sms_[i];
    }
    for (const RunningLaunch& launch : state.running()) {
      const bool waits = std::ranges::find(plan.shares, launch.id, &Share::launch) == plan.shares.end();
      if (leftover_ == SlateLeftover::GoesToQueue && waits) plan.shares.push_back(full_share(launch));
    }
    return plan;
  }

 private:
  static Quota range(const RunningLaunch& launch, int first, int sms, const State& state) {
    std::vector<int> quota(static_cast<std::size_t>(state.sms()), 0);
    std::fill_n(quota.begin() + first, sms, launch.max_residency);
    return Quota::per_sm(std::move(quota));
  }

  SlateQueue queue_;
  SmRanges ranges_;
  SlateLeftover leftover_;
  std::vector<int> sms_;  // by place
};

}  // namespace

std::unique_ptr<Policy> make_slate(const PolicyOptions& options) {
  const auto together = static_cast<std::size_t>(options.whole("together", "launches side by side, at most", 2, 1, 64));
  const Duration patience =
      options.duration("patience_ns", "how long a place is kept for the next launch of its application",
                       Duration(50'000), Duration(0), Duration(1'000'000'000));
  const bool is_balance =
      options.word("sizes", "what the SM ranges are sized for", {"throughput", "balance"}) == "balance";
  const bool queue_gets_leftover =
      options.word("queue_gets_leftover", "may queued launches have the SM room that the others leave",
                   {"no", "yes"}) == "yes";
  return std::make_unique<Slate>(SlateQueue(together, patience),
                                 is_balance ? RangeGoal::Balance : RangeGoal::Throughput,
                                 queue_gets_leftover ? SlateLeftover::GoesToQueue : SlateLeftover::StaysIdle);
}

}  // namespace gpushare
