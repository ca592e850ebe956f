// SPDX-License-Identifier: Apache-2.0
#include "core/trace/predictions_over_time.hpp"

#include <map>

#include "core/engine/state.hpp"
#include "core/engine/trace_check.hpp"
#include "core/predictors/drain_rate.hpp"
#include "core/predictors/linear_regression.hpp"
#include "core/predictors/remembering_drain.hpp"
#include "core/predictors/simple_slicing.hpp"
#include "core/predictors/staircase.hpp"

namespace gpushare {
namespace {

/// The two predictors that keep no state, on one SM.
struct SmRegression {
  LinearRegression line;
  Time first_start{};
  Duration first_block{};
};

class Follower {
 public:
  Follower(const Device& device, const Workload& workload) : state_(device, workload) {}

  void see(const Event& event) {
    state_.update(event);
    slicing_.observe(event, state_);
    draining_.observe(event, state_);
    remembering_.observe(event, state_);
    if (event.kind != EventKind::BlockEnded) return;
    SmRegression& sm = seen_[event.operation][event.sm];
    if (sm.line.samples() == 0) {
      sm.first_start = event.started;
      sm.first_block = event.time - event.started;
    }
    sm.line.add_end(event.time - sm.first_start, event.blocks);
  }

  LaunchPrediction predict(OperationId id) const {
    const RunningLaunch& launch = *state_.find(id);
    const Time now = state_.now();
    const Duration since_arrival = now - launch.arrival;
    LaunchPrediction prediction{.launch = id, .time = now, .done = launch.done};
    const auto& sms = seen_.at(id);
    const std::int64_t blocks = blocks_per_sm(launch.blocks(), state_.sms());
    for (const auto& [sm, seen] : sms) {
      const Duration before = seen.first_start - launch.arrival;
      prediction.staircase += before + staircase_runtime(blocks, launch.max_residency, seen.first_block);
      // A single end draws no line: as if nothing were left.
      prediction.regression += before + seen.line.runtime(blocks).value_or(now - seen.first_start);
    }
    prediction.staircase /= static_cast<std::int64_t>(sms.size());
    prediction.regression /= static_cast<std::int64_t>(sms.size());
    prediction.simple_slicing = since_arrival + slicing_.remaining(launch);
    prediction.drain_rate = since_arrival + draining_.remaining(launch, now);
    prediction.remembering_drain = since_arrival + remembering_.remaining(launch, now);
    return prediction;
  }

 private:
  State state_;
  SimpleSlicing slicing_;
  DrainRate draining_;
  RememberingDrain remembering_;
  std::map<OperationId, std::map<SmId, SmRegression>> seen_;
};

/// Is this the last end of a block of its launch at its time? Then all reports of that moment are in.
bool is_last_of_its_moment(const std::vector<Event>& events, std::size_t at) {
  const Event& event = events[at];
  if (event.kind != EventKind::BlockEnded) return false;
  for (std::size_t later = at + 1; later < events.size() && events[later].time == event.time; ++later) {
    if (events[later].kind == EventKind::BlockEnded && events[later].operation == event.operation) return false;
  }
  return true;
}

}  // namespace

std::vector<LaunchPrediction> predictions_over_time(const Trace& trace, const Device& device,
                                                    const Workload& workload) {
  require_possible(trace, workload, device);
  Follower follower(device, workload);
  std::vector<LaunchPrediction> predictions;
  for (std::size_t at = 0; at < trace.events.size(); ++at) {
    follower.see(trace.events[at]);
    if (is_last_of_its_moment(trace.events, at)) predictions.push_back(follower.predict(trace.events[at].operation));
  }
  return predictions;
}

}  // namespace gpushare
