// SPDX-License-Identifier: Apache-2.0
// The driver's functions about itself, the devices and their contexts.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>

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
    Known{CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
          "peer access is already enabled"},
    Known{CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
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

const std::array<std::pair<CUdevice_attribute, int>, 18> attributes = {{
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
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, Limits::threads_per_block},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, Limits::usual_shared_per_block},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
    {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
}};

/// Buses from 1: nothing else of the machine is told apart by them.
int pci_bus(const Gpu& gpu) { return gpu.ordinal() + 1; }

std::string pci_name(const Gpu& gpu) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0000:%02X:00.0", static_cast<unsigned>(pci_bus(gpu)));
  return text.data();
}

/// What a caller has room for, with a zero behind it.
void copy_name(char* to, int length, const std::string& name) {
  expect(length > 0, CUDA_ERROR_INVALID_VALUE, "no room for a name");
  const std::string text = name.substr(0, static_cast<std::size_t>(length) - 1);
  std::memcpy(to, text.c_str(), text.size() + 1);
}

/// Locks the machine only for green contexts: the others never change, and calls that change the current one are many.
std::shared_ptr<const Context> context_behind(CUcontext handle) {
  Machine& all = machine();
  for (const auto& gpu : all.gpus()) {
    if (handle_of(*gpu->primary()) == handle) return gpu->primary();
  }
  const Machine::Lock lock(all);
  return all.context(handle);
}

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
  return answer(__func__, [&] { *count = static_cast<int>(machine().gpus().size()); });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return answer(__func__, [&] { *device = machine().gpu(ordinal).ordinal(); });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return answer(__func__, [&] {
    const Gpu& gpu = machine().gpu(device);
    const std::string number = gpu.ordinal() == 0 ? "" : " " + std::to_string(gpu.ordinal());
    copy_name(name, length, std::string(Limits::name) + number);
  });
}

CUresult cuDeviceGetPCIBusId(char* name, int length, CUdevice device) {
  return answer(__func__, [&] { copy_name(name, length, pci_name(machine().gpu(device))); });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* name) {
  return answer(__func__, [&] {
    const auto& gpus = machine().gpus();
    const auto found = std::ranges::find_if(gpus, [&](const auto& gpu) { return pci_name(*gpu) == name; });
    if (found == gpus.end()) throw Denial(CUDA_ERROR_INVALID_DEVICE, "no device has this bus");
    *device = (*found)->ordinal();
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  return answer(__func__, [&] {
    const Gpu& gpu = machine().gpu(device);
    if (which == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) return void(*value = pci_bus(gpu));
    const auto found = std::ranges::find(attributes, which, &std::pair<CUdevice_attribute, int>::first);
    expect(found != attributes.end(), CUDA_ERROR_INVALID_VALUE, "the stand-in does not know this attribute");
    *value = found->second;
  });
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  return answer(__func__, [&] {
    static_cast<void>(machine().gpu(device));
    *bytes = Limits::memory;
  });
}

/// A forked process, or another one, sees the same devices.
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return answer(__func__, [&] {
    std::memcpy(uuid->bytes, Limits::name.data(), sizeof uuid->bytes);
    uuid->bytes[sizeof uuid->bytes - 1] += static_cast<char>(machine().gpu(device).ordinal());
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return answer(__func__, [&] { *context = handle_of(*machine().gpu(device).primary()); });
}

/// The context stays: other libraries of a process may hold it.
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return answer(__func__, [&] { static_cast<void>(machine().gpu(device)); });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return answer(__func__, [&] {
    static_cast<void>(machine().gpu(device));
    *flags = 0;
    *active = 1;
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return answer(__func__, [&] {
    const auto wanted = context != nullptr ? context_behind(context) : nullptr;
    contexts_pushed().clear();
    if (wanted != nullptr) contexts_pushed().push_back(wanted);
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return answer(__func__,
                [&] { *context = contexts_pushed().empty() ? nullptr : handle_of(*contexts_pushed().back()); });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return answer(__func__, [&] { *device = current_context()->gpu.ordinal(); });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  return answer(__func__, [&] { contexts_pushed().push_back(context_behind(context)); });
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  return answer(__func__, [&] {
    *context = handle_of(*current_context());
    contexts_pushed().pop_back();
  });
}

CUresult cuCtxSynchronize() {
  return answer_in_context("cuCtxSynchronize",
                           [](Gpu& gpu, Machine::Lock& lock) { lock.wait_until(gpu, [&] { return gpu.is_idle(); }); });
}

__attribute__((visibility("default"))) CUresult cuCtxSynchronize_v2(CUcontext context) {
  return answer_locked("cuCtxSynchronize", [&](Machine& all, Machine::Lock& lock) {
    Gpu& gpu = context != nullptr ? all.context(context)->gpu : current_context()->gpu;
    gpu.expect_healthy();
    lock.wait_until(gpu, [&] { return gpu.is_idle(); });
  });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return answer_in_context(__func__, [&](Gpu&, Machine::Lock&) {
    *least = 0;
    *greatest = Limits::most_urgent_priority;
  });
}

/// Not of CUDA. The moment of virtual time, in nanoseconds; to ask takes one of the devices' steps, as every call does.
__attribute__((visibility("default"))) unsigned long long gpushare_stand_in_time_ns() {
  Machine& all = machine();
  const Machine::Lock lock(all);
  return all.now_ns();
}

}  // extern "C"
