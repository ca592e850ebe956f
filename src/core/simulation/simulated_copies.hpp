// SPDX-License-Identifier: Apache-2.0
// Both copy engines of the simulated GPU, which work side by side, and the events of their copies.
#pragma once

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "core/simulation/copy_engine.hpp"
#include "core/simulation/pending_events.hpp"

namespace gpushare {

class SimulatedCopies {
 public:
  explicit SimulatedCopies(const Device& device) : to_device_(device.to_device), to_host_(device.to_host) {}

  void enqueue(const Submission& submission) {
    of(std::get<Copy>(*submission.operation).direction).enqueue(submission);
  }

  /// Starts the next copy of a direction. Returns for how many nanoseconds it is busy, if it was not.
  std::optional<double> start(Copy::Direction direction, Time now, PendingEvents& events) {
    SimulatedCopyEngine& engine = of(direction);
    if (!engine.can_start()) return std::nullopt;
    const CopyPiece& piece = engine.start(now);
    if (piece.is_first()) events.add(event(EventKind::CopyStarted, piece, now, now));
    return std::max(engine.duration(), 1.0);  // event times are whole nanoseconds, and no copy takes none
  }

  void end(Copy::Direction direction, Time now, PendingEvents& events) {
    const CopyPiece ended = of(direction).end();
    if (ended.is_last) events.add(event(EventKind::CopyEnded, ended, of(direction).start_of(ended), now));
  }

  /// Appends the copies that are under way.
  void add_under_way(std::vector<OperationId>& operations) const {
    for (const SimulatedCopyEngine* engine : {&to_device_, &to_host_}) {
      if (engine->running() != nullptr) operations.push_back(engine->running()->id);
    }
  }

 private:
  static Event event(EventKind kind, const CopyPiece& piece, Time started, Time now) {
    return {.time = now,
            .started = started,
            .application = piece.copy.application,
            .operation = piece.copy.id,
            .kind = kind};
  }

  SimulatedCopyEngine& of(Copy::Direction direction) {
    return direction == Copy::Direction::ToDevice ? to_device_ : to_host_;
  }

  SimulatedCopyEngine to_device_;
  SimulatedCopyEngine to_host_;
};

}  // namespace gpushare
