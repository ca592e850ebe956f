// SPDX-License-Identifier: Apache-2.0
// One direction of the simulated copy engines: one copy, or piece of one, at a time, time = latency + bytes /
// bandwidth unless the copy itself says how long it takes. A piece takes the latency too, as where the host sends each
// when it has seen the end of the one before; of one that the engine had while the one before was under way, the
// latency is over by then, or most of it.
#pragma once

#include <deque>

#include "core/engine/copy_line.hpp"
#include "core/model/device.hpp"

namespace gpushare {

class SimulatedCopyEngine {
 public:
  explicit SimulatedCopyEngine(const CopyEngine& engine) : engine_(engine) {}

  void enqueue(const Submission& copy) {
    line_.add(copy);
    if (is_busy_) take_ahead();
  }
  bool can_start() const { return !is_busy_ && (!pieces_.empty() || !line_.empty()); }

  const CopyPiece& start(Time now) {
    is_behind_ = !pieces_.empty();
    if (pieces_.empty()) pieces_.push_back(line_.take());
    is_busy_ = true;
    if (pieces_.front().is_first()) starts_.begin(pieces_.front(), now);
    take_ahead();
    return pieces_.front();
  }

  /// Nanoseconds that what is under way takes.
  double duration() const {
    const CopyPiece& piece = pieces_.front();
    const auto& copy = std::get<Copy>(*piece.copy.operation);
    const auto bytes = static_cast<double>(piece.size.count);
    if (copy.alone && copy.size.count == 0) return nanoseconds(*copy.alone);
    if (copy.alone) return nanoseconds(*copy.alone) * bytes / static_cast<double>(copy.size.count);
    const double latency = nanoseconds(engine_.latency);
    const double transfer = bytes / engine_.bandwidth.bytes_per_second * 1e9;
    return is_behind_ ? std::max(latency, transfer) : latency + transfer;
  }

  /// The copy under way, or nullptr.
  const Submission* running() const { return is_busy_ ? &pieces_.front().copy : nullptr; }

  CopyPiece end() {
    const CopyPiece ended = pieces_.front();
    pieces_.pop_front();
    is_busy_ = false;
    return ended;
  }
  /// The start of the copy that ended with this piece.
  Time start_of(const CopyPiece& last) { return starts_.end(last); }

 private:
  /// Whole copies wait in the line until those before them have ended.
  void take_ahead() {
    const auto may_join = [this] {
      const CopyPiece& last = pieces_.back();
      return (last.is_part() || line_.next_is_part()) && last.lets_follow(pieces_.size()) &&
             line_.next_may_join(pieces_.size());
    };
    while (!line_.empty() && may_join()) pieces_.push_back(line_.take());
  }

  CopyEngine engine_;
  CopyLine line_;
  std::deque<CopyPiece> pieces_;  // the first is under way, if any is
  CopyStarts starts_;
  bool is_busy_ = false;
  bool is_behind_ = false;  // had the engine it while another one was under way?
};

}  // namespace gpushare
