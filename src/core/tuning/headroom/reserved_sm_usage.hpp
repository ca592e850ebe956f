// SPDX-License-Identifier: Apache-2.0
// How much of the reserved SMs is in use: the launches that may run on them, how many SMs they fill, and how long such
// launches take.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>

#include "core/engine/state.hpp"
#include "core/model/lru_cache.hpp"
#include "core/predictors/name_and_threads.hpp"

namespace gpushare {

/// A fraction: blocks of other launches may run on the same SM.
inline double sms_filled_by(const RunningLaunch& launch) {
  return static_cast<double>(launch.blocks()) / launch.max_residency;
}

class ReservedSmUsage {
 public:
  /// A launch that was added before stays as it was.
  void add(const RunningLaunch& launch, bool is_admitted);

  /// Feed every start of blocks: the first one of a launch ends its waiting.
  void start(OperationId launch, Time now);

  /// Had the launch been admitted? Nothing happens where it was never added.
  bool remove(OperationId launch, Time now);

  std::size_t admitted() const { return admitted_; }
  /// The SMs that all of them fill together, but for rounding.
  double sms() const { return sms_; }
  /// Is there a less urgent launch?
  bool has_any_below(int priority) const { return !priorities_.empty() && priorities_.begin()->first < priority; }
  /// How long the latest launches of the same kernel took from their first block on: the median, because those that met
  /// a pause of the host or of the GPU say nothing about others.
  std::optional<Duration> service_time(const RunningLaunch& launch) const;

 private:
  struct Occupant {
    double sms = 0;
    NameAndThreads kernel{};
    int priority = 0;
    bool is_admitted = false;
    std::optional<Time> begun{};
  };

  /// The latest service times.
  class ServiceTimes {
   public:
    void add(Duration time) { times_[count_++ % times_.size()] = time; }
    Duration median() const {
      std::array<Duration, 15> sorted = times_;
      const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count_, sorted.size()));
      const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
      std::nth_element(sorted.begin(), middle, end);
      return *middle;
    }

   private:
    std::array<Duration, 15> times_{};  // as many as two pauses can meet, less one
    std::size_t count_ = 0;
  };

  std::map<OperationId, Occupant> occupants_;  // that have not ended
  std::map<int, int> priorities_;              // the number of occupants of each
  LruCache<NameAndThreads, ServiceTimes> service_times_{4096};
  std::size_t admitted_ = 0;
  double sms_ = 0;
};

}  // namespace gpushare
