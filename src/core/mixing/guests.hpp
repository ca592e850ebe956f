// SPDX-License-Identifier: Apache-2.0
// The launches that may be on the SMs that are kept free: how much of these they fill, and how long such ones take.
#pragma once

#include <map>
#include <optional>

#include "core/predictors/name_and_threads.hpp"
#include "core/recent_map.hpp"
#include "core/state.hpp"

namespace gpushare {

/// Its blocks may lie among those of others.
inline double sms_filled_by(const RunningLaunch& launch) {
  return static_cast<double>(launch.blocks()) / launch.max_residency;
}

class Guests {
 public:
  /// Who has come before stays as it was.
  void come(const RunningLaunch& launch, bool is_admitted);

  /// Says whether it had been admitted. Nothing happens where nobody came.
  bool leave(OperationId launch, Time now);

  std::size_t admitted() const { return admitted_; }
  /// That they fill together.
  double sms() const { return sms_; }
  /// The shortest turnaround so far of a launch of this one's kernel that was admitted.
  std::optional<Duration> shortest(const RunningLaunch& launch) const;

 private:
  struct Guest {
    double sms = 0;
    NameAndThreads kernel{};
    Time arrival{};
    bool is_admitted = false;
  };

  std::map<OperationId, Guest> guests_;  // that have not ended
  RecentMap<NameAndThreads, Duration> shortest_{4096};
  std::size_t admitted_ = 0;
  double sms_ = 0;
};

}  // namespace gpushare
