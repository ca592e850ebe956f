// SPDX-License-Identifier: Apache-2.0
// The jobs of a client that were handed on and have not ended, and the fences that wait for them. A fence ends when all
// jobs before it have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpushare::daemon {

/// What becomes of a fence.
enum class FenceFate {
  Ends,    ///< at once: nothing is before it
  Waits,   ///< until end_fences() says that it ends
  Refused  ///< too many wait already
};

class AcceptedJobs {
 public:
  /// Each fence that waits is checked at every end of a job.
  explicit AcceptedJobs(std::size_t most_fences) : most_fences_(most_fences) {}

  void begin() {
    ++commands_;
    ++unfinished_;
  }
  FenceFate add_fence(std::uint64_t job, std::int64_t accepted) {
    ++commands_;
    if (fences_.size() >= most_fences_) return FenceFate::Refused;
    if (unfinished_ == 0) return FenceFate::Ends;
    fences_.push_back({.job = job, .accepted = accepted, .unfinished_before = unfinished_});
    return FenceFate::Waits;
  }
  void end() { --unfinished_; }
  /// The job has ended: `end(job, accepted)` is called for every fence that waited for it alone.
  template <typename End>
  void end_fences(std::uint64_t job, End end) {
    std::erase_if(fences_, [&](WaitingFence& fence) {
      if (job > fence.job || --fence.unfinished_before > 0) return false;
      end(fence.job, fence.accepted);
      return true;
    });
  }

  std::size_t unfinished() const { return unfinished_; }  ///< without fences
  std::size_t waiting_fences() const { return fences_.size(); }
  std::uint64_t commands() const { return commands_; }  ///< so far, refused fences included

 private:
  struct WaitingFence {
    std::uint64_t job;
    std::int64_t accepted;
    std::size_t unfinished_before;
  };

  const std::size_t most_fences_;
  std::vector<WaitingFence> fences_;
  std::size_t unfinished_ = 0;
  std::uint64_t commands_ = 0;
};

}  // namespace gpushare::daemon
