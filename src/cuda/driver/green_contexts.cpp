// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver/green_contexts.hpp"

#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {

GreenContext::GreenContext(SharedContext parent, std::span<CUdevResource> sms) : parent_(std::move(parent)) {
  CUdevResourceDesc description = nullptr;
  GPUSHARE_CU(cuDevResourceGenerateDesc(&description, sms.data(), static_cast<unsigned>(sms.size())));
  const Drain drain = parent_->drain_requests().ask();
  GPUSHARE_CU(cuGreenCtxCreate(&green_, description, parent_->device(), CU_GREEN_CTX_DEFAULT_STREAM));
  GPUSHARE_CU(cuCtxFromGreenCtx(&context_, green_));
  stream_ = make_stream(0);
}

GreenContext::~GreenContext() {
  if (parent_->is_lost()) return;
  stream_ = {};
  parent_->drain_requests().free([parent = parent_.get(), green = green_, modules = std::move(modules_)] {
    if (parent->is_lost()) return;
    for (const auto& [function, module] : modules) GPUSHARE_CU_QUIETLY(cuModuleUnload(module));
    GPUSHARE_CU_QUIETLY(cuGreenCtxDestroy(green));
  });
}

Stream GreenContext::make_stream(int priority) const {
  CUstream stream = nullptr;
  GPUSHARE_CU(cuGreenCtxStreamCreate(&stream, green_, CU_STREAM_NON_BLOCKING, priority));
  return {parent_, stream};
}

CUfunction GreenContext::load(std::span<const char> code, const std::string& symbol) {
  const Drain drain = parent_->drain_requests().ask();
  const CurrentContext current(context_);
  CUmodule module = nullptr;
  GPUSHARE_CU(cuModuleLoadData(&module, code.data()));
  CUfunction function = nullptr;
  GPUSHARE_CU(cuModuleGetFunction(&function, module, symbol.c_str()));
  modules_.emplace(function, module);
  GPUSHARE_CU(cuFuncLoad(function));
  return function;
}

CUfunction GreenContext::load(const KernelCode& code) {
  const CUfunction function = load(code.original_cubin(), code.symbol());
  // Later launches may need more than those so far.
  const int most = most_dynamic_shared(*parent_, function);
  GPUSHARE_CU(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most));
  return function;
}

void GreenContext::unload(CUfunction function) {
  const auto found = modules_.find(function);
  if (found == modules_.end()) return;
  parent_->drain_requests().free([parent = parent_.get(), module = found->second] {
    if (!parent->is_lost()) GPUSHARE_CU_QUIETLY(cuModuleUnload(module));
  });
  modules_.erase(found);
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
    contexts.push_back(std::make_unique<GreenContext>(parent, std::span(&part, 1)));
    rest = remaining;
  }
  return contexts;
}

}  // namespace gpushare::cuda
