// SPDX-License-Identifier: Apache-2.0
// The applications that share the GPU at present: those with a running launch, and those with a next launch that is
// predicted to arrive at once. Consecutive launches of one application are 20 to 40 us apart on an H100, and giving its
// SMs to another for such a gap costs a change of quotas each way, 25 us and more. So the next launch is predicted for
// some time (`patience`) after each end, unless the application has ended or its last launch came later than that.
// Because blocks are not interrupted, an application with a latency bound may miss it by waiting for blocks of others:
// its patience can be longer.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "core/engine/state.hpp"

namespace gpushare {

class ActiveApplications {
 public:
  explicit ActiveApplications(Duration patience, Duration with_latency_bound = Duration::zero())
      : patience_(patience), patience_with_latency_bound_(std::max(patience, with_latency_bound)) {}

  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// A launch that is predicted to arrive, like the application's last one.
  struct PredictedArrival {
    ApplicationId application{};
    const Launch* launch = nullptr;  ///< the last one
    int max_residency = 0;
    double weight = 1;
    int priority = 0;

    static PredictedArrival like(const RunningLaunch& launch);
  };
  /// The next launches of applications that run nothing now, by application.
  std::vector<PredictedArrival> predicted_arrivals(Time now) const;

  /// Did the application's latest launch arrive within the patience after the one before it?
  bool returns_at_once(ApplicationId application) const {
    const auto found = applications_.find(application);
    return found != applications_.end() && found->second.came_back_in_time.value_or(false);
  }

  /// When the first of the predictions expires.
  std::optional<Time> next_expiry(Time now) const;

 private:
  struct LaunchPattern {
    PredictedArrival last;
    Launch launch;  // a copy: the workload's own may be gone when the next one is predicted
    bool is_away = false;
    std::optional<bool> came_back_in_time{};  // the last time
    Duration patience{};
    Time left{};
  };

  bool is_predicted(const LaunchPattern& pattern, Time now) const {
    return pattern.is_away && pattern.came_back_in_time.value_or(true) && now < pattern.left + pattern.patience;
  }

  Duration patience_;
  Duration patience_with_latency_bound_;
  std::map<ApplicationId, LaunchPattern> applications_;  // that have not ended
};

}  // namespace gpushare
