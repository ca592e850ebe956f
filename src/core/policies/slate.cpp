// SPDX-License-Identifier: Apache-2.0
// Slate (section III.B, III.C): a launch runs beside another on SMs of its own where Table I calls the two
// complementary, and alone otherwise. When a launch arrives or ends, those that run stay, and the queue is searched in
// order of arrival for the first that goes with all of them; then the ranges of SMs are sized anew. A kernel without a
// profile runs alone: nobody can say what goes with it until it has been measured (gpushare profile).
//
// Suits: kernels that need little of something beside others that need much of it. Fails: where a launch is short,
// since SMs change hands with every one; kernels that could share SMs get none in common.
//
// Options, where the paper is silent: sizes=throughput|balance (sm_ranges.hpp), together=2 (launches side by side at
// most; the paper's figures are of two), rest=wait|leftover (does the queue get what they leave?).
#include <algorithm>

#include "core/policies/options.hpp"
#include "core/policies/slate_classes.hpp"
#include "core/policies/sm_ranges.hpp"
#include "core/policy.hpp"

namespace gpushare {
namespace {

enum class Rest { Waits, GetsLeftover };

class Slate : public Policy {
 public:
  Slate(RangeGoal goal, std::size_t together, Rest rest) : ranges_(goal), together_(together), rest_(rest) {}

  void observe(const Event& event, const State& state) override {
    if (event.kind != EventKind::LaunchArrived && event.kind != EventKind::LaunchEnded) return;
    std::erase_if(active_, [&](OperationId id) { return state.find(id) == nullptr; });
    for (const RunningLaunch& launch : state.running()) admit(launch, state);
    std::vector<const RunningLaunch*> launches;
    for (const OperationId id : active_) launches.push_back(state.find(id));
    // In order of application, so that nobody moves to other SMs when a co-runner's next launch takes its place.
    std::ranges::sort(launches, {}, &RunningLaunch::application);
    std::ranges::transform(launches, active_.begin(), &RunningLaunch::id);
    if (active_.size() > 1) sms_ = ranges_.of(state.device(), launches);
  }

  Plan decide(const State& state) const override {
    Plan plan;
    int first = 0;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const int sms = active_.size() > 1 ? sms_[i] : state.sms();
      std::vector<int> quota(static_cast<std::size_t>(state.sms()), 0);
      std::fill_n(quota.begin() + first, sms, state.find(active_[i])->max_residency);
      plan.shares.push_back({.launch = active_[i], .quota = Quota::per_sm(std::move(quota))});
      first += sms;
    }
    for (const RunningLaunch& launch : state.running()) {
      if (rest_ == Rest::GetsLeftover && !is_active(launch)) plan.shares.push_back(full_share(launch));
    }
    return plan;
  }

 private:
  bool is_active(const RunningLaunch& launch) const { return std::ranges::find(active_, launch.id) != active_.end(); }

  void admit(const RunningLaunch& launch, const State& state) {
    const auto most = std::min(together_, static_cast<std::size_t>(state.sms()));
    if (active_.size() >= most || is_active(launch)) return;
    const bool goes_with_all = std::ranges::all_of(active_, [&](OperationId running) {
      return classes_.go_together(state.device(), *state.find(running)->launch, *launch.launch);
    });
    if (goes_with_all) active_.push_back(launch.id);
  }

  SlateClasses classes_;
  SmRanges ranges_;
  std::size_t together_;
  Rest rest_;
  std::vector<OperationId> active_;  // side by side, in the order of their SMs
  std::vector<int> sms_;             // of each, where there are several
};

}  // namespace

std::unique_ptr<Policy> make_slate(const PolicyOptions& options) {
  const std::string sizes = options.word("sizes", {"throughput", "balance"});
  const double together = options.number("together", 2, 1, 64);
  const bool leaves_rest = options.word("rest", {"wait", "leftover"}) == "leftover";
  return std::make_unique<Slate>(sizes == "balance" ? RangeGoal::Balance : RangeGoal::Throughput,
                                 static_cast<std::size_t>(together), leaves_rest ? Rest::GetsLeftover : Rest::Waits);
}

}  // namespace gpushare
