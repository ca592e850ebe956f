// SPDX-License-Identifier: Apache-2.0
// Launches that come next in their applications: announced, and, once those that they follow have ended on the GPU,
// started though not yet submitted.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cuda/launch_on_gpu.hpp"

namespace gpushare::cuda {

class Followers {
 public:
  void announce(const Submission& next) { announced_[next.application] = next; }

  /// What comes next in the application, if nobody has taken it yet.
  std::optional<Submission> take_announced(ApplicationId application) {
    const auto found = announced_.find(application);
    if (found == announced_.end()) return std::nullopt;
    const Submission next = found->second;
    announced_.erase(found);
    return next;
  }

  /// A follower whose leader has ended. Nothing is done with none.
  void keep(std::unique_ptr<LaunchOnGpu> follower) {
    if (follower) started_.push_back(std::move(follower));
  }

  /// The launch of this operation, if it has been started already.
  std::unique_ptr<LaunchOnGpu> take_started(OperationId operation) {
    const auto found =
        std::ranges::find(started_, operation, [](const auto& launch) { return launch->submission().id; });
    if (found == started_.end()) return nullptr;
    std::unique_ptr<LaunchOnGpu> launch = std::move(*found);
    started_.erase(found);
    return launch;
  }
  std::vector<std::unique_ptr<LaunchOnGpu>> take_all_started() { return std::exchange(started_, {}); }

 private:
  std::unordered_map<ApplicationId, Submission> announced_;
  std::vector<std::unique_ptr<LaunchOnGpu>> started_;
};

}  // namespace gpushare::cuda
