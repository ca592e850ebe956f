// SPDX-License-Identifier: Apache-2.0
// Earliest deadline first, with an admission test. Launches of applications with a deadline go first, the earliest
// before the others. Where prediction says that not all can meet their deadlines, as few as possible are given up:
// among the launches up to the first late one, the longest (the rule of Moore and Hodgson, optimal for jobs that are
// all present). Launches that are given up run behind all that can still be in time, with the launches without a
// deadline, in order of arrival.
//
// Deadlines belong to applications, but only the present launch is known: a later launch may find its deadline missed.
//
// Suits: deadlines of some milliseconds and more, kernels that are profiled or have many blocks. Fails: with deadlines
// that leave no time for a hand-over (20 to 300 us on an H100), and where throughput counts, since one runs at a time.
#include "core/policy_support/ranking.hpp"
#include "core/tuning/remaining_time.hpp"

namespace gpushare {
namespace {

class EarliestDeadlineFirst : public Policy {
 public:
  void observe(const Event& event, const State& state) override {
    remaining_.observe(event, state);
    if (Policy::wants(event)) admit(state);
  }

  Plan decide(const State& state) const override {
    return ranked_by(state, [&](const RunningLaunch& launch) {
      return is_admitted(launch) ? deadline(launch, state) : latest_time + (launch.arrival - Time{});
    });
  }

 private:
  static Time deadline(const RunningLaunch& launch, const State& state) {
    const Application& application = state.application(launch.application);
    return Time(application.arrival) + *application.deadline;
  }

  bool is_admitted(const RunningLaunch& launch) const {
    return std::ranges::find(admitted_, launch.id) != admitted_.end();
  }

  void admit(const State& state) {
    struct DeadlineTask {
      OperationId id;
      Time due;
      Duration remaining;
    };
    std::vector<DeadlineTask> tasks;
    for (const RunningLaunch& launch : state.running()) {
      if (!state.application(launch.application).deadline) continue;
      tasks.push_back({launch.id, deadline(launch, state), remaining_.of(launch, state).value_or(Duration{})});
    }
    std::ranges::stable_sort(tasks, {}, &DeadlineTask::due);
    std::vector<DeadlineTask> kept;
    Time end = state.now();
    for (const DeadlineTask& task : tasks) {
      kept.push_back(task);
      end += task.remaining;
      if (end <= task.due) continue;
      const auto longest = std::ranges::max_element(kept, {}, &DeadlineTask::remaining);
      end -= longest->remaining;
      kept.erase(longest);
    }
    admitted_.clear();
    for (const DeadlineTask& task : kept) admitted_.push_back(task.id);
  }

  RemainingTime remaining_;
  std::vector<OperationId> admitted_;
};

}  // namespace

std::unique_ptr<Policy> make_edf(const PolicyOptions& /*options*/) { return std::make_unique<EarliestDeadlineFirst>(); }

}  // namespace gpushare
