// SPDX-License-Identifier: Apache-2.0
// Machine code that has been loaded on one GPU. Its kernels share its variables in device memory, which are initialized
// from the source and freed with it.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/driver/handles.hpp"

namespace gpushare::cuda {

/// The state in a module's variables.
enum class ModuleState {
  None,       ///< every copy of the module is as good as another
  Constants,  ///< the host can set them, and no kernel writes them
  Variables   ///< kernels can write them
};

class KernelModule {
 public:
  /// Throws CudaError where the GPU does not take the code.
  KernelModule(const SharedContext& context, std::span<const char> cubin, ModuleState state);

  const SharedContext& context() const { return module_.context(); }
  std::span<const char> cubin() const { return cubin_; }
  ModuleState state() const { return state_; }
  /// May its kernels run from another copy of it, in another context? Not if launches, or the host, would read
  /// variables that others have written.
  bool may_be_copied() const { return state_ == ModuleState::None || (state_ == ModuleState::Constants && !exposed_); }

  /// During a drain, like find_function().
  CUfunction find_kernel(const std::string& symbol) const { return find_function(module_, symbol); }

  struct VariablePlace {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
  };
  /// From now on the host may change it. During a drain, as a driver that loads code late may do so here.
  /// Throws CudaError where there is no such variable.
  VariablePlace find_variable(const std::string& symbol);

 private:
  std::vector<char> cubin_;
  LoadedModule module_;
  ModuleState state_;
  std::atomic<bool> exposed_ = false;
};

/// One variable as memory to copy to and from. It keeps the module.
class VariableMemory {
 public:
  VariableMemory(std::shared_ptr<KernelModule> module, const std::string& symbol)
      : module_(std::move(module)), place_(module_->find_variable(symbol)) {}

  CUdeviceptr get() const { return place_.address; }
  std::size_t bytes() const { return place_.bytes; }
  const SharedContext& context() const { return module_->context(); }

 private:
  std::shared_ptr<KernelModule> module_;
  KernelModule::VariablePlace place_;
};

}  // namespace gpushare::cuda
