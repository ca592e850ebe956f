// SPDX-License-Identifier: Apache-2.0
// The driver's functions about green contexts. The groups of SMs come last first, so that nobody takes their numbers
// for those of the SMs.
#include <cstring>
#include <span>

#include "driver/call.hpp"

namespace gpushare::stand_in {
namespace {

constexpr unsigned flags_known = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;

CUdevResource resource_of(SmMask sms) {
  CUdevResource resource{};
  resource.type = sms.any() ? CU_DEV_RESOURCE_TYPE_SM : CU_DEV_RESOURCE_TYPE_INVALID;
  std::memcpy(resource._internal_padding, &sms, sizeof sms);
  resource.sm.smCount = static_cast<unsigned>(sms.count());
  return resource;
}

SmMask sms_of(const CUdevResource& resource) {
  SmMask sms;
  std::memcpy(&sms, resource._internal_padding, sizeof sms);
  expect(resource.type == CU_DEV_RESOURCE_TYPE_SM && sms.any(), CUDA_ERROR_INVALID_RESOURCE_TYPE, "no SMs");
  return sms;
}

/// The last group of those SMs, taken out.
SmMask take_group(SmMask& sms) {
  SmMask group = all_sms & ~(all_sms >> Limits::sms_per_group);
  while ((sms & group) != group) group >>= Limits::sms_per_group;
  sms &= ~group;
  return group;
}

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

CUresult cuDeviceGetDevResource(CUdevice, CUdevResource* resource, CUdevResourceType type) {
  return answer(__func__, [&] {
    expect(type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE, "the stand-in has SMs only");
    *resource = resource_of(all_sms);
  });
}

/// Groups of at least so many SMs, as many as wanted and possible.
CUresult cuDevSmResourceSplitByCount(CUdevResource* groups, unsigned* count, const CUdevResource* input,
                                     CUdevResource* remaining, unsigned flags, unsigned least) {
  return answer(__func__, [&] {
    expect(flags == flags_known && least > 0, CUDA_ERROR_INVALID_VALUE, "no such split");
    SmMask rest = sms_of(*input);
    const unsigned per_group = (least + Limits::sms_per_group - 1) / Limits::sms_per_group;
    unsigned made = 0;
    while (made < *count &&
           input->sm.smCount - made * per_group * Limits::sms_per_group >= per_group * Limits::sms_per_group) {
      SmMask sms;
      for (unsigned group = 0; group < per_group; ++group) sms |= take_group(rest);
      groups[made++] = resource_of(sms);
    }
    expect(made > 0, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "fewer SMs than a group has");
    *count = made;
    *remaining = resource_of(rest);
  });
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* description, CUdevResource* resources, unsigned count) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    SmMask sms;
    for (const CUdevResource& each : std::span(resources, count)) sms |= sms_of(each);
    expect(sms.any(), CUDA_ERROR_INVALID_VALUE, "no resources");
    *description = reinterpret_cast<CUdevResourceDesc>(&device.descriptions.emplace_back(sms));
  });
}

CUresult cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc description, CUdevice, unsigned flags) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn& turn) {
    expect(flags == CU_GREEN_CTX_DEFAULT_STREAM, CUDA_ERROR_INVALID_VALUE, "no such flags");
    turn.wait_until(device.end_of_kernels());
    auto made = std::make_unique<SmMask>(*reinterpret_cast<const SmMask*>(description));
    *context = reinterpret_cast<CUgreenCtx>(made.get());
    device.green_contexts.emplace(*context, std::move(made));
  });
}

CUresult cuGreenCtxDestroy(CUgreenCtx context) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    for (const auto& [handle, stream] : device.streams)
      expect(stream->context != context || stream->is_destroyed, CUDA_ERROR_INVALID_VALUE, "a stream is in it");
    for (const auto& [handle, module] : device.modules)
      expect(module->context != context, CUDA_ERROR_INVALID_VALUE, "a module is in it");
    expect(device.green_contexts.erase(context) == 1, CUDA_ERROR_INVALID_CONTEXT, "no such green context");
  });
}

CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx context, unsigned flags, int priority) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    const auto green = device.green_contexts.find(context);
    expect(green != device.green_contexts.end(), CUDA_ERROR_INVALID_CONTEXT, "no such green context");
    *stream = device.add_stream(context, flags, priority);
    device.stream(*stream).sms = *green->second;
  });
}

CUresult cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    expect(device.green_contexts.contains(green), CUDA_ERROR_INVALID_CONTEXT, "no such green context");
    *context = reinterpret_cast<CUcontext>(green);
  });
}

}  // extern "C"
