// SPDX-License-Identifier: Apache-2.0
// A launch whose kernel cannot be preempted: once it has a quota anywhere it runs as it is, to its end.
#pragma once

#include <algorithm>

#include "cuda/launch_on_gpu.hpp"

namespace gpushare::cuda {

class WholeLaunch final : public LaunchOnGpu {
 public:
  using LaunchOnGpu::LaunchOnGpu;

  /// Where its blocks are, nobody knows: until it has ended, it lacks the room for all that it may have.
  RoomClaim claim() const override {
    const std::int64_t blocks = launched_ || has_quota_ ? count(code_.grid) : 0;
    return {.block = footprint(resources_.device, needs_),
            .wanted = wanted_,
            .present = std::vector<int>(wanted_.size()),
            .unclaimed = progress_.finished() ? 0 : blocks};
  }
  void allow(const Allowance& /*allowance*/, Time /*now*/) override {
    has_quota_ = std::ranges::any_of(wanted_, [](int wanted) { return wanted > 0; });
  }
  bool wants_hardware(Time /*now*/) const override { return has_quota_ && !launched_; }
  void hand_to_hardware(int level, Time now) override {
    hardware_.launch(code_.kernel->original(), code_.grid, code_, {}, level, nullptr);
    launched_ = true;
    start_ = now;
  }
  bool collect(Time now, std::vector<gpushare::Event>& /*events*/) override {
    if (!hardware_.collect()) return false;
    end_ = now;
    return true;
  }
  void look(Time /*seen*/, Time /*now*/, std::vector<gpushare::Event>& events) override {
    if (!launched_) return;
    if (!is_reported_) progress_.start_whole(start_, events);
    is_reported_ = true;
    if (hardware_.empty() && !progress_.finished()) progress_.end_whole(start_, end_, events);
  }
  bool is_settling() const override { return launched_ && (!is_reported_ || hardware_.empty()); }
  bool ended() const override { return progress_.finished() || (is_withdrawn_ && !launched_); }

 private:
  bool has_quota_ = false;
  bool launched_ = false;
  bool is_reported_ = false;
  Time start_{};
};

}  // namespace gpushare::cuda
