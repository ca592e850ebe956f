// SPDX-License-Identifier: Apache-2.0
// The launches that may be on the SMs that are kept free: how much of these they fill, and how long they will.
#pragma once

#include <map>

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
  double sms() const;
  /// The time until they have ended, one after the other on so many SMs, by the shortest turnaround of each kernel so
  /// far. For ever where one is not known.
  Duration time_on(int sms) const;

 private:
  struct Guest {
    double sms = 0;
    NameAndThreads kernel{};
    Time arrival{};
    bool is_admitted = false;
  };

  std::map<OperationId, Guest> guests_;                  // that have not ended
  RecentMap<NameAndThreads, Duration> shortest_{4096};  // turnaround of one that was admitted
  std::size_t admitted_ = 0;
};

}  // namespace gpushare
