// SPDX-License-Identifier: Apache-2.0
// The driver's functions about itself, the device and its context.
#include <algorithm>
#include <array>
#include <cstring>

#include "driver/call.hpp"

namespace gpushare::stand_in {
namespace {

struct Known {
  CUresult result;
  const char* name;
  const char* meaning;
};

constexpr std::array known_results = {
    Known{CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    Known{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    Known{CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    Known{CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    Known{CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    Known{CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    Known{CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    Known{CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    Known{CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    Known{CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    Known{CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    Known{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
          "too many resources requested for launch"},
    Known{CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    Known{CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
          "part or all of the requested memory range is already mapped"},
    Known{CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
          "pointer does not correspond to a registered memory region"},
    Known{CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

const Known* find(CUresult result) {
  const auto found = std::ranges::find(known_results, result, &Known::result);
  return found == known_results.end() ? nullptr : &*found;
}

const std::array<std::pair<CUdevice_attribute, int>, 11> attributes = {{
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, Limits::warp},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, Limits::clock_khz},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, Limits::sms},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, Limits::threads_per_sm},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, Limits::blocks_per_sm},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, Limits::registers_per_sm},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, Limits::shared_per_sm},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, Limits::shared_per_block},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, Limits::reserved_shared},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, Limits::capability / 10},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, Limits::capability % 10},
}};

void expect_device(CUdevice device) { expect(device == 0, CUDA_ERROR_INVALID_DEVICE, "there is only device 0"); }

CUcontext the_context() { return reinterpret_cast<CUcontext>(&gpu()); }

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuInit(unsigned) {
  initialise();
  return is_initialised() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuGetErrorName(CUresult result, const char** name) {
  const Known* known = find(result);
  *name = known != nullptr ? known->name : nullptr;
  return known != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult result, const char** meaning) {
  const Known* known = find(result);
  *meaning = known != nullptr ? known->meaning : nullptr;
  return known != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int* count) {
  return answer(__func__, [&] { *count = 1; });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return answer(__func__, [&] {
    expect_device(ordinal);
    *device = ordinal;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return answer(__func__, [&] {
    expect_device(device);
    const std::string text(Limits::name.substr(0, static_cast<std::size_t>(length) - 1));
    std::memcpy(name, text.c_str(), text.size() + 1);
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  return answer(__func__, [&] {
    expect_device(device);
    const auto found = std::ranges::find(attributes, which, &std::pair<CUdevice_attribute, int>::first);
    expect(found != attributes.end(), CUDA_ERROR_INVALID_VALUE, "the stand-in does not know this attribute");
    *value = found->second;
  });
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  return answer(__func__, [&] {
    expect_device(device);
    *bytes = Limits::memory;
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return answer(__func__, [&] {
    expect_device(device);
    *pool = reinterpret_cast<CUmemoryPool>(&gpu().memory);
  });
}

/// A forked process, or another one, sees the same GPU.
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return answer(__func__, [&] {
    expect_device(device);
    std::memcpy(uuid->bytes, Limits::name.data(), sizeof uuid->bytes);
  });
}

/// It keeps nothing.
CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t) {
  return answer(__func__, [&] {
    expect(pool == reinterpret_cast<CUmemoryPool>(&gpu().memory), CUDA_ERROR_INVALID_HANDLE, "no such pool");
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute, void*) {
  return answer(__func__, [&] {
    expect(pool == reinterpret_cast<CUmemoryPool>(&gpu().memory), CUDA_ERROR_INVALID_HANDLE, "no such pool");
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return answer(__func__, [&] {
    expect_device(device);
    *context = the_context();
  });
}

/// The context stays: other libraries of a process may hold it.
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return answer(__func__, [&] { expect_device(device); });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return answer(__func__, [&] {
    expect_device(device);
    *flags = 0;
    *active = 1;
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return answer(__func__, [&] {
    expect(context == nullptr || context == the_context(), CUDA_ERROR_INVALID_CONTEXT, "no such context");
    contexts_pushed().clear();
    if (context != nullptr) contexts_pushed().push_back(nullptr);
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return answer(__func__, [&] {
    if (contexts_pushed().empty()) return void(*context = nullptr);
    CUgreenCtx green = green_context();
    *context = green == nullptr ? the_context() : reinterpret_cast<CUcontext>(green);
  });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return answer(__func__, [&] {
    auto* green = reinterpret_cast<CUgreenCtx>(context);
    expect(context == the_context() || gpu().green_contexts.contains(green), CUDA_ERROR_INVALID_CONTEXT,
           "no such context");
    contexts_pushed().push_back(context == the_context() ? nullptr : green);
  });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return answer(__func__, [&] {
    CUgreenCtx green = green_context();
    contexts_pushed().pop_back();
    *context = green == nullptr ? the_context() : reinterpret_cast<CUcontext>(green);
  });
}

CUresult cuCtxSynchronize() {
  return answer_in_context("cuCtxSynchronize",
                           [](Gpu& device, Gpu::Turn& turn) { turn.wait_until([&] { return device.is_idle(); }); });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return answer_in_context(__func__, [&](Gpu&, Gpu::Turn&) {
    *least = 0;
    *greatest = Limits::most_urgent_priority;
  });
}

}  // extern "C"
