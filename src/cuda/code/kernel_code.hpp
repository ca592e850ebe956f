// SPDX-License-Identifier: Apache-2.0
// A kernel's machine code on one GPU: the original, and a worker where it can be preempted. Both are in one module, so
// that they have the same variables.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.hpp"
#include "core/runtime/launch/kernel_history.hpp"
#include "core/transform/flow/thread_group.hpp"
#include "cuda/code/kernel_module.hpp"

namespace gpushare::cuda {

using Extent = std::array<unsigned, 3>;

constexpr std::int64_t count(const Extent& extent) { return std::int64_t{extent[0]} * extent[1] * extent[2]; }

class KernelCode {
 public:
  /// Finds them by their symbols; without a worker's symbol the kernel cannot be preempted. `blocks`: those that the
  /// worker is correct for. Throws CudaError where the module lacks a symbol.
  KernelCode(std::shared_ptr<KernelModule> module, std::string symbol, const std::string& worker,
             ptx::BlockShapes blocks = {});

  KernelId id() const { return id_; }
  CUfunction original() const { return original_; }
  /// nullptr where the kernel cannot be preempted.
  CUfunction worker() const { return worker_; }
  const std::string& symbol() const { return symbol_; }
  /// The original's machine code, for loading into other contexts.
  std::span<const char> original_cubin() const { return module_->cubin(); }
  /// May it be loaded several times? Not where launches share variables, as each copy would have separate ones.
  bool may_be_copied() const { return module_->may_be_copied(); }

  /// Is the worker right for such a block, and has the block room for its registers and shared memory? Else it runs
  /// whole.
  bool can_be_worker(const Extent& block, unsigned dynamic_shared_bytes) const {
    return worker_ != nullptr && worker_blocks_.suit(block[0], block[1], block[2]) &&
           count(block) <= worker_limits_.threads &&
           std::cmp_less_equal(dynamic_shared_bytes, worker_limits_.dynamic_shared);
  }
  /// The needs of a block of an SM at launch. Throws InvalidInput where the GPU cannot run such a block.
  BlockNeeds needs(const Extent& block, unsigned dynamic_shared_bytes);

 private:
  struct Limits {
    int threads = 0;
    int dynamic_shared = 0;
  };
  Limits limits_of(CUfunction function) const;
  BlockNeeds ask_for_needs(const Extent& block, unsigned dynamic_shared_bytes) const;
  void allow_shared_memory(CUfunction function, unsigned dynamic_shared_bytes) const;

  KernelId id_;
  std::string symbol_;
  std::shared_ptr<KernelModule> module_;
  CUfunction original_ = nullptr;
  CUfunction worker_ = nullptr;
  Limits worker_limits_;
  ptx::BlockShapes worker_blocks_;
  std::map<std::pair<Extent, unsigned>, BlockNeeds> needs_;  // the driver takes microseconds to answer
};

/// A function's attribute, such as its registers per thread.
int attribute(CUfunction function, CUfunction_attribute which);

/// How many bytes of it a block may have beside the function's static ones.
int most_dynamic_shared(const Context& context, CUfunction function);

/// How many blocks of the function an SM holds, as the driver sees it.
int driver_occupancy(const Context& context, CUfunction function, int threads, unsigned dynamic_shared_bytes);

}  // namespace gpushare::cuda
