// SPDX-License-Identifier: Apache-2.0
// Rings in device memory where workers that are told to leave put what they have claimed and not begun. A launch keeps
// its ring from its first worker to its end, evicted or not.
#pragma once

#include <vector>

#include "cuda/handles.hpp"

namespace gpushare::cuda {

class ReturnedRings {
 public:
  /// What it writes goes through this stream.
  ReturnedRings(const SharedContext& context, CUstream writes);

  /// One that is empty, behind what is in the stream.
  CUdeviceptr take();
  /// Of a launch that has come to its end: all tasks in it have been taken.
  void give_back(CUdeviceptr ring) { empty_.push_back(ring); }
  /// Of one that has not: tasks may lie in it.
  void abandon(CUdeviceptr ring) { used_.push_back(ring); }

 private:
  void grow();

  SharedContext context_;
  CUstream writes_;
  PinnedMemory zeros_;
  std::vector<DeviceMemory> banks_;
  std::vector<CUdeviceptr> empty_;
  std::vector<CUdeviceptr> used_;
};

}  // namespace gpushare::cuda
