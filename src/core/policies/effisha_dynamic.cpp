// SPDX-License-Identifier: Apache-2.0
// Dynamic-priority preemptive scheduling (EffiSha section 7): one application has the GPU for a time slice of (p + 1) /
// 2 ms, p being its priority, and is then inactive until all active ones have been served. A priority grows by one per
// ms of waiting, and returns to its initial value after a time slice. A priority above the current one preempts at
// block boundary.
//
// Options; the first value is the likely meaning of the paper where it is not explicit: ageing=preempts|waits, may
// grown priorities preempt, or only those of arriving applications; slice=dynamic|static, is p the grown priority or
// the initial one; queue_of_preempted=inactive|active, where a preempted application waits; queue_gets_leftover=no|yes,
// may the others use what the current one leaves.
//
// Suits: interactive among long applications. Fails: an evicted application starves while newcomers keep the active
// queue from running empty (ageing=waits evicts less); where blocks are as long as slices, since a slice begins with
// the decision.
#include <algorithm>

#include "core/model/errors.hpp"
#include "core/policy_support/options.hpp"
#include "core/priorities/time_slices.hpp"

namespace gpushare {
namespace {

class EffishaDynamic : public Policy {
 public:
  explicit EffishaDynamic(const PolicyOptions& options)
      : ageing_preempts_(options.word("ageing", "may a priority raised by waiting preempt, or only that of a newcomer",
                                      {"preempts", "waits"}) == "preempts"),
        slice_grows_(options.word("slice", "is the priority in (priority + 1) / 2 ms the raised one or the first one",
                                  {"dynamic", "static"}) == "dynamic"),
        queue_of_preempted_(options.word("queue_of_preempted", "the queue in which a preempted application waits",
                                         {"inactive", "active"}) == "active"
                                ? TimeSlice::Queue::Active
                                : TimeSlice::Queue::Inactive),
        leftover_(options.word("queue_gets_leftover", "may the others have the SM room that the current one leaves",
                               {"no", "yes"}) == "yes") {}

  void check(const Application& application) const override {
    if (application.priority >= 0 && application.priority <= most_priority) return;
    throw PolicyError("application '" + application.name + "' has priority " + std::to_string(application.priority) +
                      "; slices of (priority + 1) / 2 ms need one in 0.." + std::to_string(most_priority));
  }

  void observe(const Event& event, const State& state) override {
    slices_.observe(event, state);
    if (!wants(event)) return;
    const Time now = event.time;
    if (slices_.current() && now >= slice_end()) slices_.stop(TimeSlice::Queue::Inactive, now);
    if (slices_.current() && challenged(now)) slices_.stop(queue_of_preempted_, now);
    if (!slices_.current()) slices_.begin_next(now);
  }

  Plan decide(const State& state) const override {
    Plan plan;
    add_shares(plan, slices_.current_request(), state);
    plan.wake_at = slice_end();
    for (const RequestId other : slices_.waiting(state.now())) {
      if (leftover_) add_shares(plan, slices_.request(other), state);
      if (const auto at = may_preempt_at(slices_.slice(other))) plan.wake_at = std::min(*plan.wake_at, *at);
    }
    return plan;
  }

 private:
  Time slice_end() const {
    const TimeSlice& slice = *slices_.current();
    return slice.began + half_ms * (1 + (slice_grows_ ? slice.priority : slice.ageing.initial()));
  }

  bool challenged(Time now) const {
    return std::ranges::any_of(slices_.waiting(now), [&](RequestId other) {
      const std::optional<Time> at = may_preempt_at(slices_.slice(other));
      return at && *at <= now;
    });
  }

  /// When this slice's priority will be above the current one's, if ever.
  std::optional<Time> may_preempt_at(const TimeSlice& waiting) const {
    const int needed = slices_.current()->priority + 1;
    if (waiting.queue == TimeSlice::Queue::Inactive) return std::nullopt;
    if (!ageing_preempts_ && waiting.ageing.initial() < needed) return std::nullopt;
    return waiting.ageing.reaches(needed);
  }

  static constexpr int most_priority = 1000;  // a slice of half a second
  static constexpr Duration half_ms{std::chrono::microseconds(500)};
  TimeSlices slices_;
  bool ageing_preempts_;
  bool slice_grows_;
  TimeSlice::Queue queue_of_preempted_;
  bool leftover_;
};

}  // namespace

std::unique_ptr<Policy> make_effisha_dynamic(const PolicyOptions& options) {
  return std::make_unique<EffishaDynamic>(options);
}

}  // namespace gpushare
