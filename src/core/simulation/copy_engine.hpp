// SPDX-License-Identifier: Apache-2.0
// One direction of the simulated copy engines: a queue, one copy at a time, time = latency + bytes / bandwidth.
#pragma once

#include <cmath>
#include <deque>
#include <optional>

#include "core/device.hpp"
#include "core/gpu.hpp"

namespace gpushare {

class SimulatedCopyEngine {
 public:
  explicit SimulatedCopyEngine(const CopyEngine& engine) : engine_(engine) {}

  void enqueue(const Submission& copy) { waiting_.push_back(copy); }
  bool can_start() const { return !running_ && !waiting_.empty(); }

  const Submission& start(Time now) {
    running_ = waiting_.front();
    waiting_.pop_front();
    started_ = now;
    return *running_;
  }

  /// Nanoseconds that the running copy takes.
  double duration() const {
    const auto& copy = std::get<Copy>(*running_->operation);
    return nanoseconds(engine_.latency) +
           static_cast<double>(copy.size.count) / engine_.bandwidth.bytes_per_second * 1e9;
  }

  Time started() const { return started_; }
  /// The copy under way, or nullptr.
  const Submission* running() const { return running_ ? &*running_ : nullptr; }

  Submission end() {
    const Submission ended = *running_;
    running_.reset();
    return ended;
  }

 private:
  CopyEngine engine_;
  std::deque<Submission> waiting_;
  std::optional<Submission> running_;
  Time started_{};
};

}  // namespace gpushare
