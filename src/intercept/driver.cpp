// SPDX-License-Identifier: Apache-2.0
#include "intercept/driver.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include "intercept/membership.hpp"

namespace gpushare::intercept {
namespace {

constexpr int looked_up_version = 12000;

template <class Function>
void look_up(const Driver& driver, const char* name, Function& function, cuuint64_t flags) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult result{};
  if (call(driver.cuGetProcAddress_v2, name, &found, looked_up_version, flags, &result) != CUDA_SUCCESS) return;
  if (found != nullptr) function = reinterpret_cast<Function>(found);
}

Driver driver_found() {
  Driver found;
  // It is loaded, since this library needs it.
  void* library = dlopen("libcuda-real.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return found;
  if (dlsym(library, "cuInit") == reinterpret_cast<void*>(&cuInit)) {
    say("libcuda-real.so is this library again, and not the driver: there is no CUDA in process %d",
        static_cast<int>(getpid()));
    return found;
  }
#define GPUSHARE_FIND(name) found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, #name));
  GPUSHARE_INTERCEPTED(GPUSHARE_FIND)
  GPUSHARE_CALLED(GPUSHARE_FIND)
#undef GPUSHARE_FIND
  // Functions that programs get from the driver may differ from its exports of the same name.
#define GPUSHARE_AS_PROGRAMS(name)                                      \
  look_up(found, #name, found.name, CU_GET_PROC_ADDRESS_LEGACY_STREAM); \
  look_up(found, #name, found.name##_ptsz, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  GPUSHARE_AS_PROGRAMS(cuLaunchKernel)
  GPUSHARE_AS_PROGRAMS(cuLaunchKernelEx)
  GPUSHARE_AS_PROGRAMS(cuLaunchCooperativeKernel)
  GPUSHARE_AS_PROGRAMS(cuGraphLaunch)
#undef GPUSHARE_AS_PROGRAMS
  if (found.cuEventElapsedTime_v2 == nullptr) found.cuEventElapsedTime_v2 = found.cuEventElapsedTime;
  return found;
}

}  // namespace

const Driver real = driver_found();

}  // namespace gpushare::intercept
