// SPDX-License-Identifier: Apache-2.0
// Launches that come next in their applications: announced, or queued in hardware though not yet submitted, once the
// launch before has ended. Also those that will never be submitted, because their application was withdrawn.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/runtime/launch/gpu_launch.hpp"

namespace gpushare {

/// A successor that is on the hardware, and the launch before it.
struct QueuedSuccessor {
  std::unique_ptr<GpuLaunch> launch;
  OperationId leader{};
};

class Successors {
 public:
  void announce(const Submission& next) { announced_[next.application] = next; }
  /// The announced next launch of the application, unless it has been taken.
  std::optional<Submission> take_announced(ApplicationId application);

  /// Stores the successor of a launch that has ended. Does nothing with none.
  void keep(std::unique_ptr<GpuLaunch> successor, OperationId leader);
  /// The launch of this operation, if it has been queued already.
  std::unique_ptr<GpuLaunch> take_queued(OperationId operation);

  /// It will not be submitted any more: it leaves the GPU, and is then forgotten. Does nothing with none.
  void dismiss(std::unique_ptr<GpuLaunch> successor, OperationId leader, Time now);
  /// The same for any successor of this launch, which has ended.
  void dismiss_behind(OperationId leader, Time now);
  /// Is a successor of this one still leaving? Until it has left, its code and its arrays are in use.
  bool is_leaving_behind(OperationId leader) const;
  bool is_leaving(OperationId successor) const;
  bool any_leaving() const { return !leaving_.empty(); }
  /// The queued ones leave, too. Submitted ones are launches like the others.
  void evict_queued(Time now);
  bool are_off_hardware() const;
  /// Forgets those that have left; true if any has.
  bool collect(Time now);

  /// All successors that are on the GPU.
  std::vector<QueuedSuccessor> take_all();
  std::span<const QueuedSuccessor> queued() const { return queued_; }
  std::span<const QueuedSuccessor> leaving() const { return leaving_; }

 private:
  std::unordered_map<ApplicationId, Submission> announced_;
  std::vector<QueuedSuccessor> queued_;
  std::vector<QueuedSuccessor> leaving_;
};

}  // namespace gpushare
