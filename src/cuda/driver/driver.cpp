// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver/driver.hpp"

#include <cstdlib>

namespace gpushare::cuda {
namespace {

#define GPUSHARE_TEXT_OF(name) #name
#define GPUSHARE_EXPANDED_TEXT_OF(name) GPUSHARE_TEXT_OF(name)

/// A test may put another library in the driver's place.
std::string library_path() {
  const char* path = std::getenv("GPUSHARE_LIBCUDA");
  return path != nullptr && *path != '\0' ? path : "libcuda.so.1";
}

SharedLibrary open_library() {
  try {
    return SharedLibrary(library_path());
  } catch (const CudaError& error) {
    throw CudaError(std::string("no NVIDIA driver: ") + error.what() +
                    ". Install the driver, or use a simulated device such as sim:h100");
  }
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int version_of(const SharedLibrary& library) {
  int version = 0;
  if (library.get<CUresult(int*)>("cuDriverGetVersion")(&version) == CUDA_SUCCESS) return version;
  throw CudaError("the NVIDIA driver does not say its version: check with nvidia-smi");
}

Driver open_driver() {
  const SharedLibrary library = open_library();
  const int version = version_of(library);
  if (version < oldest_driver_version) {
    throw CudaError("the NVIDIA driver is too old: it supports CUDA " + version_text(version) + ", needed is CUDA " +
                    version_text(oldest_driver_version) + " (driver 580 or newer)");
  }
  // Streams that share a hardware queue wait for each other, and a grid that waits for room would delay the others.
  // Only the first context of a process uses this setting.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  const Driver driver(library);
  const CUresult result = driver.cuInit(0);
  if (result == CUDA_SUCCESS) return driver;
  const char* name = nullptr;
  driver.cuGetErrorName(result, &name);
  throw CudaError(std::string("no usable GPU: cuInit says ") + (name != nullptr ? name : "an unknown error") +
                  ". Check with nvidia-smi, or use a simulated device such as sim:h100");
}

}  // namespace

Driver::Driver(const SharedLibrary& library) {
#define GPUSHARE_LOAD(name) \
  name = library.get<std::remove_pointer_t<decltype(&::name)>>(GPUSHARE_EXPANDED_TEXT_OF(name));
  GPUSHARE_DRIVER_FUNCTIONS(GPUSHARE_LOAD)
#undef GPUSHARE_LOAD
}

const Driver& driver() {
  static const Driver opened = open_driver();
  return opened;
}

int driver_version() {
  try {
    return version_of(SharedLibrary(library_path()));
  } catch (const CudaError&) {
    return 0;
  }
}

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  const char* meaning = nullptr;
  driver().cuGetErrorName(result, &name);
  driver().cuGetErrorString(result, &meaning);
  throw CudaError(std::string(call) + " failed: " + (name != nullptr ? name : "unknown error") + " (" +
                  (meaning != nullptr ? meaning : "no description") + ")");
}

}  // namespace gpushare::cuda
