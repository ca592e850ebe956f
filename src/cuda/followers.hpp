// SPDX-License-Identifier: Apache-2.0
// Launches that come next in their applications: announced, or started though not yet submitted, once the launch before
// has ended. Also those that will never be submitted, because their application was withdrawn.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cuda/launch_on_gpu.hpp"

namespace gpushare::cuda {

class Followers {
 public:
  void announce(const Submission& next) { announced_[next.application] = next; }
  /// The announced next launch of the application, unless it has been taken.
  std::optional<Submission> take_announced(ApplicationId application);

  /// Stores the successor of a launch that has ended. Does nothing with none.
  void keep(std::unique_ptr<LaunchOnGpu> follower, OperationId leader);
  /// The launch of this operation, if it has been started already.
  std::unique_ptr<LaunchOnGpu> take_started(OperationId operation);

  /// It will not be submitted any more: it leaves the GPU, and is then forgotten. Does nothing with none.
  void send_away(std::unique_ptr<LaunchOnGpu> follower, OperationId leader, Time now);
  /// The same for any successor of this launch, which has ended.
  void send_away_behind(OperationId leader, Time now);
  /// Is a successor of this one still leaving? Until it has left, its code and its arrays are in use.
  bool is_leaving_behind(OperationId leader) const;
  bool is_leaving(OperationId follower) const;
  bool any_leaving() const { return !leaving_.empty(); }
  /// Started ones leave, too. Submitted ones are launches like the others.
  void stop_started(Time now);
  bool are_off_hardware() const;
  /// Forgets those that have left; true if any has.
  bool collect(Time now);

  struct Started {
    std::unique_ptr<LaunchOnGpu> launch;
    OperationId leader{};
  };
  /// All successors that are on the GPU.
  std::vector<Started> take_all();
  std::span<const Started> started() const { return started_; }
  std::span<const Started> leaving() const { return leaving_; }

 private:
  std::unordered_map<ApplicationId, Submission> announced_;
  std::vector<Started> started_;
  std::vector<Started> leaving_;
};

}  // namespace gpushare::cuda
