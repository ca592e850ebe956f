// SPDX-License-Identifier: Apache-2.0
// The launches that may be on the SMs that are kept free: how much of these they fill, and what such ones take.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>

#include "core/engine/state.hpp"
#include "core/model/recent_map.hpp"
#include "core/predictors/name_and_threads.hpp"

namespace gpushare {

/// Its blocks may lie among those of others.
inline double sms_filled_by(const RunningLaunch& launch) {
  return static_cast<double>(launch.blocks()) / launch.max_residency;
}

class Guests {
 public:
  /// Who has come before stays as it was.
  void come(const RunningLaunch& launch, bool is_admitted);

  /// Feed every start of blocks: a guest's first one ends its waiting.
  void begin(OperationId launch, Time now);

  /// Says whether it had been admitted. Nothing happens where nobody came.
  bool leave(OperationId launch, Time now);

  std::size_t admitted() const { return admitted_; }
  /// That they fill together, but for rounding.
  double sms() const { return sms_; }
  /// Is anybody there who is less urgent?
  bool any_below(int priority) const { return !priorities_.empty() && priorities_.begin()->first < priority; }
  /// What the latest guests of this launch's kernel took from their first block on: the median, since those that a
  /// pause of the host or of the GPU has met say nothing of the others.
  std::optional<Duration> service(const RunningLaunch& launch) const;

 private:
  struct Guest {
    double sms = 0;
    NameAndThreads kernel{};
    int priority = 0;
    bool is_admitted = false;
    std::optional<Time> begun{};
  };

  /// Some times, the oldest of which are forgotten.
  class Latest {
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

  std::map<OperationId, Guest> guests_;  // that have not ended
  std::map<int, int> priorities_;        // how many there are of each
  RecentMap<NameAndThreads, Latest> service_{4096};
  std::size_t admitted_ = 0;
  double sms_ = 0;
};

}  // namespace gpushare
