// SPDX-License-Identifier: Apache-2.0
// Words in pinned memory that a stream sets when it reaches a point. Checking a word is a read of memory; a query of
// the driver costs a microsecond and takes its lock.
#pragma once

#include <atomic>
#include <vector>

#include "cuda/driver/handles.hpp"

namespace gpushare::cuda {

/// A point in a stream. Valid until it has been reached; one without a word is never reached.
struct Completion {
  std::uint32_t* word = nullptr;
  std::uint32_t value = 0;

  bool reached() const { return word != nullptr && std::atomic_ref(*word).load(std::memory_order_acquire) == value; }
};

class Completions {
 public:
  /// The limit of marks at a time.
  explicit Completions(const SharedContext& context, std::size_t most = 4096);

  /// Marks the present end of the stream's work. Every mark must be returned once it has been reached.
  Completion mark(CUstream stream);
  void give_back(const Completion& completion);

  /// Throws CudaError once a kernel has faulted: then no mark is ever reached.
  void require_healthy() const;

 private:
  PinnedMemory memory_;
  Stream idle_;
  CUdeviceptr address_;
  std::vector<std::uint32_t*> free_;
  std::uint32_t value_ = 0;
};

}  // namespace gpushare::cuda
