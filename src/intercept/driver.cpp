// SPDX-License-Identifier: Apache-2.0
#include "intercept/driver.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include "intercept/membership.hpp"

namespace gpushare::intercept {
namespace {

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
  if (found.cuEventElapsedTime_v2 == nullptr) found.cuEventElapsedTime_v2 = found.cuEventElapsedTime;
  return found;
}

}  // namespace

const Driver real = driver_found();

}  // namespace gpushare::intercept
