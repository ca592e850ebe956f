// SPDX-License-Identifier: Apache-2.0
// In the place of libcuda.so.1: one GPU whose memory is the host's, and whatever failure FAKE_* asks for.
// The test adds the driver's other functions, all of which succeed and do nothing.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

/// What the variable says, a number; `otherwise` where it is not set.
int wish(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

struct Pair {
  int key;
  int value;
};

struct ErrorName {
  int error;
  const char* name;
};

constexpr ErrorName error_names[] = {
    {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"}, {100, "CUDA_ERROR_NO_DEVICE"}};

}  // namespace

extern "C" {

int cuDriverGetVersion(int* version) {
  if (wish("FAKE_CRASH", 0) != 0) std::abort();
  if (wish("FAKE_HANG", 0) != 0) sleep(60);
  *version = wish("FAKE_VERSION", 13000);
  return 0;
}

int cuInit(unsigned) { return wish("FAKE_INIT", 0); }

int cuGetErrorName(int error, const char** name) {
  for (const ErrorName& known : error_names) {
    if (known.error == error) return *name = known.name, 0;
  }
  return 1;  // and the name stays as it is
}

int cuGetErrorString(int, const char** meaning) { return *meaning = "as the test wants it", 0; }

int cuDeviceGetCount(int* count) { return *count = wish("FAKE_GPUS", 1), 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }
int cuDeviceGetName(char* name, int length, int) { return std::strncpy(name, "Fake GPU", length), 0; }
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = std::size_t{80} << 30, 0; }

/// The keys are as in cuda.h: warp size, clock in kHz, SMs, compute capability, major and minor.
int cuDeviceGetAttribute(int* value, int which, int) {
  const int capability = wish("FAKE_CAPABILITY", 90);
  const Pair attributes[] = {{10, 32}, {13, 1'000'000}, {16, 132}, {75, capability / 10}, {76, capability % 10}};
  *value = 1024;
  for (const Pair& known : attributes) {
    if (known.key == which) *value = known.value;
  }
  return 0;
}

int cuDevicePrimaryCtxRetain(void** context, int) {
  static int any = 0;
  return *context = &any, wish("FAKE_CONTEXT", 0);
}

int cuCtxGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -5, 0; }

int cuMemAllocAsync(std::uintptr_t* address, std::size_t bytes, void*) {
  *address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
  return wish("FAKE_ALLOCATE", 0);
}

int cuMemFreeAsync(std::uintptr_t address, void*) { return std::free(reinterpret_cast<void*>(address)), 0; }

int cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  return *address = std::malloc(bytes), wish("FAKE_PIN", 0);
}

int cuMemFreeHost(void* address) { return std::free(address), 0; }

int cuMemcpyHtoDAsync_v2(std::uintptr_t to, const void* from, std::size_t bytes, void*) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}

int cuMemcpyDtoHAsync_v2(void* to, std::uintptr_t from, std::size_t bytes, void*) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  if (wish("FAKE_FORGETFUL", 0) != 0) static_cast<char*>(to)[bytes / 2] ^= 1;
  return 0;
}
}
