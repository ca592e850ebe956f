// SPDX-License-Identifier: Apache-2.0
// The drain rate, put right by what it got wrong in the kernel's last launches. What nothing that has ended can tell,
// it was told by those: that first blocks take longer than the rest, or late ones, or that the last wave is not full.
// It is a factor, by how much of the launch is done, so that it holds at whatever rate the launch runs now.
//
// It learns from launches beside which no other launch arrived or ended, since otherwise the remaining time depends on
// the others, and not from parts of grids; time in which a launch had no block at all does not count. Kernels are known
// by their names, as everywhere.
//
// Suits: kernels that are launched again and again. Fails: where another part of the grid takes long each time, and
// after launches whose quotas changed while no launch arrived or ended.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/model/lru_cache.hpp"
#include "core/predictors/drain_errors.hpp"
#include "core/predictors/drain_rate.hpp"
#include "core/predictors/name_and_threads.hpp"

namespace gpushare {

class RememberingDrain {
 public:
  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// Starts a new slice for every launch: residencies are about to change.
  void reslice();

  bool has_sample(const RunningLaunch& launch) const { return drain_.has_sample(launch); }

  /// How long the rest takes on all SMs. Requires has_sample().
  Duration remaining(const RunningLaunch& launch, Time now) const;

 private:
  struct Forecast {
    double done = 0;
    Time time{};  // but for when it stood still
    Duration remaining{};
  };
  struct FollowedLaunch {
    std::vector<Forecast> forecasts;
    double next_done = 0;  // when there is to be another one
    bool is_disturbed = false;
    Duration stood_still{};  // had no block
    std::optional<Time> still_since{};

    void goes_on(Time now);
  };

  static double done(const RunningLaunch& launch) {
    return static_cast<double>(launch.done) / static_cast<double>(launch.here());
  }
  FollowedLaunch* find(OperationId launch);
  void forecast(const RunningLaunch& launch, FollowedLaunch& launched, Time now);
  void learn(const RunningLaunch& launch, Time end);

  DrainRate drain_;
  std::map<OperationId, FollowedLaunch> under_way_;
  std::vector<OperationId> reported_;                   // in a look that is not over
  LruCache<NameAndThreads, DrainErrors> errors_{4096};  // by kernel
};

}  // namespace gpushare
