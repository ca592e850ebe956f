// SPDX-License-Identifier: Apache-2.0
// Parts of the GPU to which the hardware keeps original kernels: a green context for each set of SMs, with the kernels
// that run there. To make one and to load kernels there takes a quiet moment, in which everybody stands still. So it is
// done by a thread of its own, once it is wanted for long enough: until then, who asks is told that it is not ready.
#pragma once

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "cuda/kernel_code.hpp"
#include "cuda/short_launches.hpp"

namespace gpushare::cuda {

class Partitions {
 public:
  /// Seen on an H100: a moment costs 0.1 to 2 ms until it begins, 0.3 for a kernel and 2 for a partition, and running
  /// whole saves a twentieth of the time in the mean.
  static constexpr Duration usual_worth{20'000'000};

  /// A kernel that is asked for `worth` of launches' time is loaded, a partition made for three times as much; and in
  /// the same moment what is asked for a part of that.
  explicit Partitions(SharedContext context, Duration worth = usual_worth);
  ~Partitions();
  Partitions(const Partitions&) = delete;
  Partitions& operator=(const Partitions&) = delete;

  /// The way of this kernel to these SMs, or to as many of them as the hardware can have apart, for a launch that
  /// should take so long. Nothing as long as it is not ready, or where those are less than nine in ten.
  std::optional<WholeWay> find(const std::shared_ptr<const KernelCode>& kernel, const std::vector<SmId>& sms,
                               Duration expected);
  /// Until all that was asked for is ready, or cannot be had.
  void wait_ready();

 private:
  class Workshop;
  SharedContext context_;
  std::shared_ptr<Workshop> workshop_;  // its thread's, too
  std::thread thread_;
};

}  // namespace gpushare::cuda
