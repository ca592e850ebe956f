// SPDX-License-Identifier: Apache-2.0
// Parts of the GPU to which the hardware confines original kernels: a green context for each set of SMs, with the
// kernels that run there. Making one and loading kernels there takes a drain, in which all launches stop. So a separate
// thread does it, once enough launches need it: until then, a request for it returns nothing.
#pragma once

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "cuda/code/kernel_code.hpp"
#include "cuda/launch/original_setup.hpp"

namespace gpushare::cuda {

class Partitions {
 public:
  /// A kernel is loaded once the launches that need it have taken `worth`, and a partition is made after three times as
  /// much; in the same drain further orders are made that have reached a part of that.
  Partitions(SharedContext context, Duration worth);
  ~Partitions();
  Partitions(const Partitions&) = delete;
  Partitions& operator=(const Partitions&) = delete;

  /// The way to run this kernel on these SMs, or on as many of them as the hardware can separate, for a launch that
  /// should take so long. Nothing as long as it is not ready, or where those are less than nine in ten.
  std::optional<OriginalSetup> find(const std::shared_ptr<const KernelCode>& kernel, const std::vector<SmId>& sms,
                                    Duration expected);
  /// For what is wanted from now on.
  void set_worth(Duration worth);
  /// Waits until all orders are ready, or have failed.
  void wait_ready();

 private:
  class Workshop;
  SharedContext context_;
  std::shared_ptr<Workshop> workshop_;  // its thread's, too
  std::thread thread_;
};

}  // namespace gpushare::cuda
