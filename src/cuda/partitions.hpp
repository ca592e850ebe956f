// SPDX-License-Identifier: Apache-2.0
// Parts of the GPU to which the hardware keeps original kernels: a green context for each set of SMs, with the kernels
// that run there. To make one takes a millisecond and to load a kernel some tenths, so both are done beside the run, by
// a thread of its own: who asks is told that it is not ready yet.
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
  explicit Partitions(SharedContext context);
  ~Partitions();
  Partitions(const Partitions&) = delete;
  Partitions& operator=(const Partitions&) = delete;

  /// The way of this kernel to these SMs, or to as many of them as the hardware can have apart. Nothing as long as it
  /// is not ready, or where those are less than nine in ten.
  std::optional<WholeWay> find(const std::shared_ptr<const KernelCode>& kernel, const std::vector<SmId>& sms);
  /// Until all that was asked for is ready, or cannot be had.
  void wait_ready();

 private:
  class Workshop;
  SharedContext context_;
  std::shared_ptr<Workshop> workshop_;  // its thread's, too
  std::thread thread_;
};

}  // namespace gpushare::cuda
