// SPDX-License-Identifier: Apache-2.0
// Classification-driven search for a partition of the SMs (CD-search, section 4). A memory-bound application keeps its
// rate on fewer SMs than an even part. Profiles tell which ones are memory-bound (profile=off-line, or
// profile=equations, the paper's); without them some SMs are stalled to find out. Further SMs are stalled as long as
// the rate holds. The SMs that this frees go to the compute-bound applications, or stay idle to save power where there
// are none. Compute-bound applications share evenly.
//
// Suits: long-running mixes of memory-bound and compute-bound launches, also as loops of short ones. Fails: launches
// that end before a few waves of blocks have been measured keep an even part; rates that drift by themselves mislead.
#include "core/engine/policy.hpp"
#include "core/partitioning/sampling_window.hpp"
#include "core/partitioning/search_memory.hpp"

namespace gpushare {
namespace {

class CdSearch : public Policy {
 public:
  explicit CdSearch(const CdSearchOptions& options) : options_(options), memory_(options) {}

  void observe(const Event& event, const State& state) override {
    if (event.kind == EventKind::ApplicationEnded) memory_.ended(event.application);
    const bool is_new_group = group_.observe(event, state);
    window_.observe(event, state, group_.members());
    if (is_new_group) return meet(state);
    const bool is_due = event.kind == EventKind::DeadlineReached && is_searching() && event.time >= window_.next_look();
    if (is_due && window_.complete(state, partition_, awaited())) advance(state);
  }

  Plan decide(const State& state) const override {
    Plan plan;
    const bool is_alone = group_.members().size() == 1;
    for (const RunningLaunch& launch : state.running()) {
      if (!is_alone && partition_.sms_of(launch.application) == 0) continue;
      const Quota part = is_alone ? full_quota(launch) : partition_.quota(launch.application, launch.max_residency);
      plan.shares.push_back({.launch = launch.id, .quota = part});
    }
    plan.wake_at = group_.next_departure();
    if (is_searching()) plan.wake_at = std::min(plan.wake_at.value_or(latest_time), window_.next_look());
    // A GPU may report an event later than the time of the wake-up that the policy wants.
    if (plan.wake_at) plan.wake_at = std::max(*plan.wake_at, state.now() + Duration(1));
    return plan;
  }

 private:
  bool is_searching() const { return search_ != nullptr && !search_->finished(); }

  void meet(const State& state) {
    search_ = &memory_.search_of(group_.members(), state);
    settle_in(state);
  }

  void advance(const State& state) {
    Rates rates;
    for (const Member& member : group_.members()) rates.push_back(window_.rate(member, partition_));
    search_->measured(rates);
    memory_.learn(group_.members(), *search_);
    settle_in(state);
  }

  void settle_in(const State& state) {
    std::vector<SmPart> parts;
    for (const Member& member : group_.members()) {
      parts.push_back({.application = member.application, .sms = search_->parts()[parts.size()]});
    }
    partition_.resize(parts, state.sms());
    window_.begin(state.now(), options_.window_on(state.device()));
  }

  /// The launches with rates that the search waits for.
  std::vector<Member> awaited() const {
    std::vector<Member> members;
    for (std::size_t i = 0; i < group_.members().size(); ++i) {
      if (search_->needs_rate(i)) members.push_back(group_.members()[i]);
    }
    return members;
  }

  CdSearchOptions options_;
  CoRunGroup group_;
  SmPartition partition_;
  SamplingWindow window_;
  SearchMemory memory_;
  PartitionSearch* search_ = nullptr;  // of the present group
};

}  // namespace

std::unique_ptr<Policy> make_cd_search(const PolicyOptions& options) {
  return std::make_unique<CdSearch>(cd_search_options(options));
}

}  // namespace gpushare
