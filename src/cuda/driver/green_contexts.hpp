// SPDX-License-Identifier: Apache-2.0
// Green contexts: fixed parts of the SMs. NVIDIA's way to partition a GPU inside one process.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "cuda/code/kernel_code.hpp"

namespace gpushare::cuda {

class GreenContext {
 public:
  /// Several must be of one split.
  GreenContext(SharedContext parent, std::span<CUdevResource> sms);
  ~GreenContext();
  GreenContext(const GreenContext&) = delete;
  GreenContext& operator=(const GreenContext&) = delete;

  CUstream stream() const { return stream_.get(); }
  Stream make_stream(int priority) const;
  /// Loads a function of this machine code or PTX into this context.
  CUfunction load(std::span<const char> code, const std::string& symbol);
  /// The original kernel in this context.
  CUfunction load(const KernelCode& code);
  /// Unloads a function, which must not be running.
  void unload(CUfunction function);

 private:
  SharedContext parent_;
  CUgreenCtx green_ = nullptr;
  CUcontext context_ = nullptr;
  Stream stream_;
  std::unordered_map<CUfunction, CUmodule> modules_;
};

/// One green context for each of these numbers of SMs, disjoint. The hardware hands out SMs in units of 2 (8 with
/// thread block clusters); a number in between is rounded up. Throws InvalidInput where they do not fit the GPU.
std::vector<std::unique_ptr<GreenContext>> make_green_contexts(const SharedContext& parent,
                                                               const std::vector<int>& sms);

}  // namespace gpushare::cuda
