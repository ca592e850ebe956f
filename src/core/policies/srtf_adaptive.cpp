// SPDX-License-Identifier: Apache-2.0
// SRTF/Adaptive (SRTF section 5.1.2): SRTF until predicted slowdowns lie more than a threshold apart; then the fastest
// is limited to a few blocks per SM and leaves the rest to the others. Block times are resampled at every change of
// mode; sharing ends when it proves less fair than the order it replaced.
//
// Suits: launches of similar length. Fails: the fastest pays for sharing with throughput that the others may not gain.
#include <map>

#include "core/policy_support/ranking.hpp"
#include "core/policy_support/sampling.hpp"
#include "core/predictors/shared_runtime.hpp"
#include "core/predictors/simple_slicing.hpp"

namespace gpushare {
namespace {

constexpr double unfair_spread = 0.5;  // section 5.1.2: difference of the smallest and the largest slowdown
constexpr int shared_residency = 3;    // section 5.1.2: one less than half of the resources

class SrtfAdaptive : public Policy {
 public:
  void observe(const Event& event, const State& state) override {
    predictor_.observe(event, state);
    mode_changed_ = false;
    if (event.kind == EventKind::LaunchArrived || event.kind == EventKind::LaunchEnded) mode_ = Mode::Exclusive;
    if (predictor_.changed() && state.running().size() > 1) reconsider(state);
  }

  bool wants(const Event& event) const override {
    return Policy::wants(event) || predictor_.changed() || mode_changed_;
  }

  Plan decide(const State& state) const override {
    if (auto plan = sampling_plan(state, predictor_)) return *std::move(plan);
    Plan plan;
    const auto launches = order(state);
    rank_behind(plan, launches);
    const Quota limit = Quota::everywhere(limited(*launches.front()));
    if (mode_ == Mode::Sharing) plan.shares.front() = {.launch = fastest_, .quota = limit, .leaves_rest = true};
    return plan;
  }

 private:
  enum class Mode { Exclusive, Sharing, ExclusiveForGood };

  static int limited(const RunningLaunch& fastest) { return std::min(shared_residency, fastest.max_residency); }

  /// Shortest first. While sharing, the order is the one that sharing began with.
  std::vector<const RunningLaunch*> order(const State& state) const {
    return sorted_by(state, [&](const RunningLaunch& launch) {
      return mode_ == Mode::Sharing && launch.id == fastest_ ? Duration::min() : predictor_.remaining(launch);
    });
  }

  void reconsider(const State& state) {
    for (const RunningLaunch& launch : state.running()) {
      if (!predictor_.has_sample(launch)) return;
      if (mode_ != Mode::Sharing) exclusive_time_[launch.id] = nanoseconds(predictor_.block_time(launch));
      if (mode_ == Mode::Sharing && !predictor_.has_fresh_sample(launch)) return;
    }
    const std::vector<const RunningLaunch*> launches = order(state);
    const std::vector<RuntimeEstimate> predicted = estimates(launches, state);
    const double unfairness = spread(exclusive_slowdowns(predicted));
    if (mode_ == Mode::Exclusive && unfairness > unfair_spread) {
      fastest_ = launches.front()->id;
      enter(Mode::Sharing);
    } else if (mode_ == Mode::Sharing && spread(shared_slowdowns(predicted)) > unfairness) {
      enter(Mode::ExclusiveForGood);
    }
  }

  void enter(Mode mode) {
    mode_ = mode;
    mode_changed_ = true;
    predictor_.reslice();
  }

  std::vector<RuntimeEstimate> estimates(std::span<const RunningLaunch* const> launches, const State& state) const {
    std::vector<BlockTimeByMode> times;
    for (const RunningLaunch* launch : launches) {
      const double shared = nanoseconds(predictor_.block_time(*launch));
      times.push_back({.exclusive = exclusive_time_.at(launch->id), .shared = shared});
    }
    return runtime_estimates(launches, times, limited(*launches.front()), state);
  }

  SimpleSlicing predictor_;
  std::map<OperationId, double> exclusive_time_;  // t in nanoseconds when last alone on the SMs
  Mode mode_ = Mode::Exclusive;
  OperationId fastest_{};
  bool mode_changed_ = false;
};

}  // namespace

std::unique_ptr<Policy> make_srtf_adaptive(const PolicyOptions& /*options*/) {
  return std::make_unique<SrtfAdaptive>();
}

}  // namespace gpushare
