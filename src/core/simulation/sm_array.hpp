// SPDX-License-Identifier: Apache-2.0
// All SMs of the simulated GPU: how fast the blocks on them run beside one another, and which ends next.
#pragma once

#include <vector>

#include "core/simulation/bandwidth_sharing.hpp"
#include "core/simulation/event_queue.hpp"
#include "core/simulation/sm_speed_cache.hpp"
#include "core/simulation/streaming_multiprocessor.hpp"

namespace gpushare {

class SmArray {
 public:
  explicit SmArray(const Device& device);

  int size() const { return static_cast<int>(sms_.size()); }
  bool fits(SmId sm, const ActiveLaunch& launch) const { return sms_[index(sm)].fits(launch); }
  int resident(SmId sm, const ActiveLaunch& launch) const { return sms_[index(sm)].resident(launch); }

  /// The next block of the launch; `wave`: how many of it the SM may have at a time. set_rates() follows.
  void start(SmId sm, ActiveLaunch& launch, int wave, double now, Time time) {
    sms_[index(sm)].start(launch, wave, now, time);
  }

  /// When the next block ends; EarliestOf::never: none does.
  double next_end() const { return ends_.time(); }
  struct EndedBlock {
    SmId sm;
    StreamingMultiprocessor::Ended block;
  };
  /// Requires that it is time for it. set_rates() follows.
  EndedBlock end_first(double now);

  /// Brings the rates on an SM in line with the blocks on it.
  void set_rates(SmId sm, double now);
  /// From now on there are blocks that use the bandwidth beyond the SMs.
  void use_off_sm() { uses_off_sm_ = true; }
  /// Brings all rates in line with that bandwidth, if any has changed.
  void share_bandwidth(double now);

 private:
  std::vector<StreamingMultiprocessor> sms_;
  EarliestOf ends_;
  SmSpeedCache speeds_;
  BandwidthSharing bandwidth_;
  bool uses_off_sm_ = false;
  bool rates_changed_ = false;
};

}  // namespace gpushare
