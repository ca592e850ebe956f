// SPDX-License-Identifier: Apache-2.0
#include "core/trace/accuracy.hpp"

#include <map>
#include <utility>

#include "core/engine/state.hpp"
#include "core/engine/trace_check.hpp"
#include "core/predictors/drain_rate.hpp"
#include "core/predictors/linear_regression.hpp"
#include "core/predictors/simple_slicing.hpp"
#include "core/predictors/staircase.hpp"

namespace gpushare {
namespace {

class Checker {
 public:
  Checker(const Device& device, const Workload& workload) : state_(device, workload) {}

  void see(const Event& event) {
    if (event.kind == EventKind::LaunchEnded) finish(*state_.find(event.operation));
    state_.update(event);
    predictor_.observe(event, state_);
    draining_.observe(event, state_);
    if (event.kind == EventKind::BlockEnded) block_ended(event);
  }

  std::vector<PredictionCheck> take() {
    std::vector<PredictionCheck> checks;
    for (auto& [place, seen] : seen_) checks.push_back(seen.check);
    return checks;
  }

 private:
  struct Seen {
    PredictionCheck check;
    LinearRegression line;
    Time first_start{};
  };

  void block_ended(const Event& event) {
    const RunningLaunch& launch = *state_.find(event.operation);
    const auto [entry, is_first] = seen_.try_emplace({event.operation, event.sm});
    Seen& seen = entry->second;
    if (is_first) {
      const int sms = state_.sms();
      seen.first_start = event.started;
      seen.check.launch = event.operation;
      seen.check.sm = event.sm;
      seen.check.staircase =
          staircase_runtime(blocks_per_sm(launch.blocks(), sms), launch.max_residency, event.time - event.started);
      seen.check.slice_unaware = predictor_.runtime(launch, event.sm, state_.now());
    }
    if (predictor_.changed()) seen.check.simple_slicing = predictor_.runtime(launch, event.sm, state_.now());
    if (!seen.check.drain_rate && 10 * launch.done >= launch.blocks()) {
      seen.check.drain_rate =
          launch.per_sm[index(event.sm)].active(state_.now()) + draining_.remaining(launch, state_.now());
    }
    seen.line.add_end(event.time - seen.first_start, event.blocks);
  }

  /// The last events of a launch are in: now its true runtimes are known.
  void finish(const RunningLaunch& launch) {
    for (std::size_t sm = 0; sm < launch.per_sm.size(); ++sm) {
      const auto entry = seen_.find({launch.id, static_cast<SmId>(sm)});
      if (entry == seen_.end()) continue;
      entry->second.check.actual = launch.per_sm[sm].active_before;
      entry->second.check.regression = entry->second.line.runtime(launch.per_sm[sm].done);
    }
  }

  State state_;
  SimpleSlicing predictor_;
  DrainRate draining_;
  std::map<std::pair<OperationId, SmId>, Seen> seen_;
};

}  // namespace

std::vector<PredictionCheck> check_predictions(const Trace& trace, const Device& device, const Workload& workload) {
  require_possible(trace, workload, device);
  Checker checker(device, workload);
  for (const Event& event : trace.events) checker.see(event);
  return checker.take();
}

}  // namespace gpushare
