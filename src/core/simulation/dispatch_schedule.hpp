// SPDX-License-Identifier: Apache-2.0
// Where the block dispatcher of the simulated GPU has to look next, and from when on: an SM takes blocks one after the
// other, with a pause in between.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/model/units.hpp"

namespace gpushare {

class DispatchSchedule {
 public:
  /// `interval`: between two blocks of one SM, in nanoseconds; 0: none.
  DispatchSchedule(int sms, double interval) : interval_(interval), sms_(static_cast<std::size_t>(sms)) {}

  /// This SM may have room.
  void look_at(SmId sm) { freed_.push_back(sm); }
  void look_everywhere() { everywhere_ = true; }
  bool is_done() const { return !everywhere_ && freed_.empty(); }
  /// Is all to be looked at? Then single SMs are not.
  bool take_everywhere() { return std::exchange(everywhere_, false); }
  const std::vector<SmId>& freed() const { return freed_; }
  void clear_freed() { freed_.clear(); }

  /// A block is about to start. False: the pause is not over.
  bool begin_block(SmId sm, double now) {
    if (interval_ == 0) return true;
    if (now < sms_[index(sm)].open_at) return false;
    sms_[index(sm)].open_at = now + interval_;
    return true;
  }
  /// When to look again at an SM that takes no block yet; nullopt where a timer waits for that already.
  std::optional<double> ask_for_timer(SmId sm) {
    if (std::exchange(sms_[index(sm)].has_timer, true)) return std::nullopt;
    return sms_[index(sm)].open_at;
  }
  void timer_ended(SmId sm) {
    sms_[index(sm)].has_timer = false;
    look_at(sm);
  }

 private:
  struct SmDispatch {
    double open_at = 0;  // for its next block
    bool has_timer = false;
  };

  double interval_;
  std::vector<SmDispatch> sms_;
  std::vector<SmId> freed_;
  bool everywhere_ = false;
};

}  // namespace gpushare
