// SPDX-License-Identifier: Apache-2.0
// A kernel's machine code on one GPU: as it was written, and as a worker where it can be preempted.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel.hpp"
#include "cuda/handles.hpp"

namespace gpushare::cuda {

/// Of one that was loaded. Addresses of the driver's functions recur once a kernel has been unloaded; these do not.
enum class KernelId : std::uint64_t {};

class KernelCode {
 public:
  /// Throws CudaError where the GPU does not take the code. An empty worker: the kernel cannot be preempted.
  KernelCode(const SharedContext& context, std::string symbol, std::span<const char> original,
             std::span<const char> worker);

  KernelId id() const { return id_; }
  CUfunction original() const { return original_; }
  /// nullptr where the kernel cannot be preempted.
  CUfunction worker() const { return worker_; }
  const std::string& symbol() const { return symbol_; }
  /// The original's machine code, for contexts that want a copy of their own.
  std::span<const char> original_cubin() const { return original_cubin_; }

  /// Is there room for such a block as a worker, which has registers and shared memory of its own? Else it runs whole.
  bool can_be_worker(std::int64_t threads, unsigned dynamic_shared_bytes) const {
    return worker_ != nullptr && threads <= worker_limits_.threads &&
           std::cmp_less_equal(dynamic_shared_bytes, worker_limits_.dynamic_shared);
  }
  /// What a block needs of an SM as it will run. Throws InvalidInput where the GPU cannot run such a block.
  BlockNeeds needs(int threads, unsigned dynamic_shared_bytes);

 private:
  struct Limits {
    int threads = 0;
    int dynamic_shared = 0;
  };
  Limits limits_of(CUfunction function) const;
  BlockNeeds ask_for_needs(int threads, unsigned dynamic_shared_bytes) const;
  void allow_shared_memory(CUfunction function, unsigned dynamic_shared_bytes) const;

  KernelId id_;
  std::string symbol_;
  std::vector<char> original_cubin_;
  LoadedModule original_module_;
  LoadedModule worker_module_;
  CUfunction original_ = nullptr;
  CUfunction worker_ = nullptr;
  Limits worker_limits_;
  std::map<std::pair<int, unsigned>, BlockNeeds> needs_;  // the driver takes microseconds to answer
};

/// A function's attribute, such as its registers per thread.
int attribute(CUfunction function, CUfunction_attribute which);

/// How many bytes of it a block may have beside the function's static ones.
int most_dynamic_shared(const Context& context, CUfunction function);

/// How many blocks of the function an SM holds, as the driver sees it.
int driver_occupancy(const Context& context, CUfunction function, int threads, unsigned dynamic_shared_bytes);

}  // namespace gpushare::cuda
