// SPDX-License-Identifier: Apache-2.0
#include "cuda/green_contexts.hpp"

#include "cuda/driver.hpp"

namespace gpushare::cuda {

GreenContext::GreenContext(SharedContext parent, const CUdevResource& sms) : parent_(std::move(parent)) {
  CUdevResourceDesc description = nullptr;
  CUdevResource part = sms;
  GPUSHARE_CU(cuDevResourceGenerateDesc(&description, &part, 1));
  GPUSHARE_CU(cuGreenCtxCreate(&green_, description, parent_->device(), CU_GREEN_CTX_DEFAULT_STREAM));
  GPUSHARE_CU(cuCtxFromGreenCtx(&context_, green_));
  GPUSHARE_CU(cuGreenCtxStreamCreate(&stream_, green_, CU_STREAM_NON_BLOCKING, 0));
}

GreenContext::~GreenContext() {
  for (CUmodule module : modules_) GPUSHARE_CU_QUIETLY(cuModuleUnload(module));
  GPUSHARE_CU_QUIETLY(cuStreamDestroy(stream_));
  GPUSHARE_CU_QUIETLY(cuGreenCtxDestroy(green_));
}

CUfunction GreenContext::function(const KernelCode& code) {
  CUfunction& function = functions_[&code];
  if (function != nullptr) return function;
  GPUSHARE_CU(cuCtxPushCurrent(context_));
  CUmodule module = nullptr;
  const CUresult loaded = driver().cuModuleLoadData(&module, code.original_cubin().data());
  if (loaded == CUDA_SUCCESS) {
    modules_.push_back(module);
    GPUSHARE_CU(cuModuleGetFunction(&function, module, code.symbol().c_str()));
    GPUSHARE_CU(cuFuncLoad(function));
    const int shared = attribute(code.original(), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    GPUSHARE_CU(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared));
  }
  CUcontext popped = nullptr;
  GPUSHARE_CU(cuCtxPopCurrent(&popped));
  check(loaded, "loading a kernel in a green context");
  return function;
}

std::vector<std::unique_ptr<GreenContext>> make_green_contexts(const SharedContext& parent,
                                                               const std::vector<int>& sms) {
  CUdevResource rest{};
  GPUSHARE_CU(cuDeviceGetDevResource(parent->device(), &rest, CU_DEV_RESOURCE_TYPE_SM));
  std::vector<std::unique_ptr<GreenContext>> contexts;
  for (const int count : sms) {
    require(count > 0, "green contexts: an application needs at least 1 SM, got " + std::to_string(count));
    const auto wanted = static_cast<unsigned>(count);
    require(wanted <= rest.sm.smCount, "green contexts: the parts add up to more SMs than the GPU has (" +
                                           std::to_string(wanted) + " wanted, " + std::to_string(rest.sm.smCount) +
                                           " left)");
    CUdevResource part{};
    CUdevResource remaining{};
    unsigned groups = 1;
    if (wanted == rest.sm.smCount) {
      part = rest;
      remaining.sm.smCount = 0;
    } else {
      GPUSHARE_CU(cuDevSmResourceSplitByCount(&part, &groups, &rest, &remaining,
                                              CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, wanted));
    }
    contexts.push_back(std::make_unique<GreenContext>(parent, part));
    rest = remaining;
  }
  return contexts;
}

}  // namespace gpushare::cuda
