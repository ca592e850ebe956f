// SPDX-License-Identifier: Apache-2.0
// The driver's functions about green contexts. The groups of SMs come last first, so that no test can take
// their numbers for those of the SMs.
#include <cstring>
#include <span>

#include "driver/call.hpp"

namespace gpushare::stand_in {
namespace {

constexpr unsigned flags_known = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;

/// What a resource holds besides what cuda.h says of it.
struct Contents {
  SmMask sms;
  int device = 0;
};
static_assert(sizeof(Contents) <= sizeof CUdevResource::_internal_padding);

CUdevResource resource_of(const Contents& contents) {
  CUdevResource resource{};
  resource.type = contents.sms.any() ? CU_DEV_RESOURCE_TYPE_SM : CU_DEV_RESOURCE_TYPE_INVALID;
  std::memcpy(resource._internal_padding, &contents, sizeof contents);
  resource.sm.smCount = static_cast<unsigned>(contents.sms.count());
  return resource;
}

Contents contents_of(const CUdevResource& resource) {
  Contents contents;
  std::memcpy(&contents, resource._internal_padding, sizeof contents);
  expect(resource.type == CU_DEV_RESOURCE_TYPE_SM && contents.sms.any(), CUDA_ERROR_INVALID_RESOURCE_TYPE, "no SMs");
  return contents;
}

/// The last group of those SMs, taken out.
SmMask take_group(SmMask& sms) {
  SmMask group = all_sms & ~(all_sms >> Limits::sms_per_group);
  while ((sms & group) != group) group >>= Limits::sms_per_group;
  sms &= ~group;
  return group;
}

std::shared_ptr<const Context> green_context(const Machine& machine, CUgreenCtx handle) {
  const auto found = machine.green_contexts.find(handle);
  expect(found != machine.green_contexts.end(), CUDA_ERROR_INVALID_CONTEXT, "no such green context");
  return found->second;
}

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  return answer(__func__, [&] {
    expect(type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE, "the stand-in has SMs only");
    *resource = resource_of({.sms = all_sms, .device = machine().gpu(device).ordinal()});
  });
}

/// Groups of at least so many SMs, as many as wanted and possible.
CUresult cuDevSmResourceSplitByCount(CUdevResource* groups, unsigned* count, const CUdevResource* input,
                                     CUdevResource* remaining, unsigned flags, unsigned least) {
  return answer(__func__, [&] {
    expect(flags == flags_known && least > 0, CUDA_ERROR_INVALID_VALUE, "no such split");
    Contents rest = contents_of(*input);
    const unsigned per_group = (least + Limits::sms_per_group - 1) / Limits::sms_per_group;
    unsigned made = 0;
    while (made < *count &&
           input->sm.smCount - made * per_group * Limits::sms_per_group >= per_group * Limits::sms_per_group) {
      Contents taken{.sms = {}, .device = rest.device};
      for (unsigned group = 0; group < per_group; ++group) taken.sms |= take_group(rest.sms);
      groups[made++] = resource_of(taken);
    }
    expect(made > 0, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "fewer SMs than a group has");
    *count = made;
    *remaining = resource_of(rest);
  });
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* description, CUdevResource* resources, unsigned count) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    expect(count > 0, CUDA_ERROR_INVALID_VALUE, "no resources");
    SmChoice choice{.gpu = &all.gpu(contents_of(*resources).device), .sms = {}};
    for (const CUdevResource& each : std::span(resources, count)) {
      const Contents contents = contents_of(each);
      expect(contents.device == choice.gpu->ordinal(), CUDA_ERROR_INVALID_VALUE, "SMs of several devices");
      choice.sms |= contents.sms;
    }
    *description = reinterpret_cast<CUdevResourceDesc>(&all.descriptions.emplace_back(choice));
  });
}

CUresult cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc description, CUdevice device, unsigned flags) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock& lock) {
    const auto& [gpu, sms] = *reinterpret_cast<const SmChoice*>(description);
    expect(flags == CU_GREEN_CTX_DEFAULT_STREAM, CUDA_ERROR_INVALID_VALUE, "no such flags");
    expect(&all.gpu(device) == gpu, CUDA_ERROR_INVALID_VALUE, "the SMs are another device's");
    lock.wait_until(*gpu, gpu->end_of_kernels());
    auto made = std::make_shared<const Context>(Context{.gpu = *gpu, .sms = sms, .is_primary = false});
    *context = reinterpret_cast<CUgreenCtx>(handle_of(*made));
    all.green_contexts.emplace(*context, std::move(made));
  });
}

CUresult cuGreenCtxDestroy(CUgreenCtx handle) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    const std::shared_ptr<const Context> context = green_context(all, handle);
    context->gpu.expect_healthy();
    for (const auto& [key, stream] : context->gpu.streams())
      expect(stream->context != context || stream->is_destroyed, CUDA_ERROR_INVALID_VALUE, "a stream is in it");
    for (const auto& [key, module] : all.modules)
      expect(module->context != context, CUDA_ERROR_INVALID_VALUE, "a module is in it");
    all.green_contexts.erase(handle);
  });
}

CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx handle, unsigned flags, int priority) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    const std::shared_ptr<const Context> context = green_context(all, handle);
    context->gpu.expect_healthy();
    *stream = context->gpu.add_stream(context, flags, priority);
  });
}

CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  return answer_locked(__func__,
                       [&](Machine& all, Machine::Lock&) { *context = handle_of(*green_context(all, green)); });
}

}  // extern "C"
