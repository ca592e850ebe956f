// SPDX-License-Identifier: Apache-2.0
// For how long a phase of the tuner has lasted, and how often the present probe was interrupted: by applications that
// left, or by pauses, after which the probe begins anew.
#pragma once

#include <algorithm>

#include "core/model/units.hpp"

namespace gpushare {

class PhaseTime {
 public:
  void begin(Time now) {
    began_ = now;
    before_interruption_ = {};
  }
  /// The phase begins anew, and has lasted for `longest` at most: how long an application was away is not known.
  void begin_again(Time now, Duration longest) {
    before_interruption_ += std::min(now - began_, longest);
    began_ = now;
  }
  /// The time before does not count as that of a probe.
  void restart(Time now) { began_ = now; }

  Time began() const { return began_; }  ///< the phase, or again
  Duration lasted(Time now) const { return now - began_ + before_interruption_; }

  int interrupt() { return ++interruptions_; }  ///< how many there have been
  void forget_interruptions() { interruptions_ = 0; }

 private:
  Time began_{};
  Duration before_interruption_{};
  int interruptions_ = 0;
};

}  // namespace gpushare
