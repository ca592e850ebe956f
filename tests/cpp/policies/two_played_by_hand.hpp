// SPDX-License-Identifier: Apache-2.0
// What policies make of what they measure, where a test says how fast everybody is.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "hand_written_events.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare::test {

inline Device cautious_device() {
  Device device = mixing_device();
  device.per_sm.issue_order = IssueOrder::OldestFirst;
  return device;
}

/// Two applications that stay; the GPU is played by hand: blocks of the first end at one speed and those of the second
/// at another, both of which depend on how many SMs the first may fill: all of them where launches take turns.
class TwoPlayedByHand {
 public:
  /// Speeds relative to those alone, the first kernel's and the second's, by the SMs of the first.
  using Speeds = std::function<std::pair<double, double>(int)>;

  explicit TwoPlayedByHand(Speeds speeds, const std::string& policy = "mix")
      : run_(policy, cautious_device(), workload_of({endless("one"), endless("other")})), speeds_(std::move(speeds)) {
    run_.arrive(0, 0);
    run_.arrive(1, 0);
  }

  int sms_of_first() const { return static_cast<int>(std::ranges::count(run_.quotas(0), 8)); }

  void play_until(std::int64_t end_ns) {
    for (; now_ < end_ns; now_ += 10'000) {
      const int sms = sms_of_first();
      const auto [first, second] = speeds_(sms);
      end_blocks(0, 0, first);
      end_blocks(1, 7, second);
    }
  }

 private:
  static Launch endless(std::string name) { return {.kernel = issuing_kernel(std::move(name)), .blocks = 1'000'000}; }

  void end_blocks(int launch, int sm, double speed) {
    double& due = due_.at(static_cast<std::size_t>(launch));
    due += 10'000 * speed * rate_alone(cautious_device(), issuing_kernel());
    const int blocks = static_cast<int>(due);
    due -= blocks;
    if (blocks == 0) return;
    run_.start_group(launch, sm, blocks, now_);
    run_.end_group(launch, sm, blocks, now_ - 5'000, now_);
  }

  PolicyRehearsal run_;
  Speeds speeds_;
  std::int64_t now_ = 10'000;
  std::array<double, 2> due_{};
};

}  // namespace gpushare::test
