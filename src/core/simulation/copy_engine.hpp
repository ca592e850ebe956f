// SPDX-License-Identifier: Apache-2.0
// One direction of the simulated copy engines: one copy, or piece of one, at a time, time = latency + bytes /
// bandwidth unless the copy itself says how long it takes. A piece takes the latency too, as where the host sends each
// when it has seen the end of the one before.
#pragma once

#include <optional>

#include "core/copy_line.hpp"
#include "core/device.hpp"

namespace gpushare {

class SimulatedCopyEngine {
 public:
  explicit SimulatedCopyEngine(const CopyEngine& engine) : engine_(engine) {}

  void enqueue(const Submission& copy) { line_.add(copy); }
  bool can_start() const { return !running_ && !line_.empty(); }

  const CopyPiece& start(Time now) {
    running_ = line_.take(now);
    return *running_;
  }

  /// Nanoseconds that what is under way takes.
  double duration() const {
    const auto& copy = std::get<Copy>(*running_->copy.operation);
    if (copy.alone) {
      const double part = copy.size.count > 0 ? static_cast<double>(running_->size.count) / copy.size.count : 1;
      return nanoseconds(*copy.alone) * part;
    }
    return nanoseconds(engine_.latency) +
           static_cast<double>(running_->size.count) / engine_.bandwidth.bytes_per_second * 1e9;
  }

  /// The copy under way, or nullptr.
  const Submission* running() const { return running_ ? &running_->copy : nullptr; }

  CopyPiece end() {
    const CopyPiece ended = *running_;
    running_.reset();
    return ended;
  }

 private:
  CopyEngine engine_;
  CopyLine line_;
  std::optional<CopyPiece> running_;
};

}  // namespace gpushare
