// SPDX-License-Identifier: Apache-2.0
// Green contexts: parts of the SMs, cut out once and fixed. NVIDIA's own way to partition a GPU inside one process.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "cuda/kernel_code.hpp"

namespace gpushare::cuda {

class GreenContext {
 public:
  GreenContext(SharedContext parent, const CUdevResource& sms);
  ~GreenContext();
  GreenContext(const GreenContext&) = delete;
  GreenContext& operator=(const GreenContext&) = delete;

  CUstream stream() const { return stream_; }
  /// The original kernel in this context.
  CUfunction function(const KernelCode& code);

 private:
  SharedContext parent_;
  CUgreenCtx green_ = nullptr;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::vector<CUmodule> modules_;
  std::unordered_map<const KernelCode*, CUfunction> functions_;
};

/// One green context for each of these numbers of SMs, disjoint. The hardware hands out SMs in units of 2 (8 with
/// thread block clusters); a number in between is rounded up. Throws InvalidInput where they do not fit the GPU.
std::vector<std::unique_ptr<GreenContext>> make_green_contexts(const SharedContext& parent,
                                                               const std::vector<int>& sms);

}  // namespace gpushare::cuda
