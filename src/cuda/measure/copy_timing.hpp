// SPDX-License-Identifier: Apache-2.0
// How long copies between host and device take, by size, direction and kind of host memory.
#pragma once

#include <vector>

#include "core/model/workload.hpp"
#include "cuda/code/program.hpp"
#include "cuda/launch/gpu_resources.hpp"

namespace gpushare::cuda {

enum class HostMemory {
  Pinned,   ///< the copy engine reads and writes it by itself
  Pageable  ///< as malloc gives it: the driver copies it through pinned memory
};

struct CopyTime {
  Duration host;    ///< from the call until the host has seen the end
  Duration device;  ///< between events around the copy; of a pageable one, without what the driver does before
};

/// Memory for copies of up to a given size, made and touched once.
class CopyTimer {
 public:
  CopyTimer(GpuResources& resources, std::size_t most_bytes);

  /// One copy that warms up, and then `repeats` of them, one after the other.
  std::vector<CopyTime> measure(Copy::Direction direction, HostMemory memory, std::size_t bytes, int repeats);

 private:
  CopyTime once(Copy::Direction direction, void* host, std::size_t bytes);

  GpuResources& resources_;
  std::size_t most_bytes_;
  DeviceMemory device_;
  PinnedMemory pinned_;
  std::vector<std::byte> pageable_;
  Stream stream_;
  Event start_;
  Event end_;
};

}  // namespace gpushare::cuda
