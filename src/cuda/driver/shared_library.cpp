// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver/shared_library.hpp"

#include <dlfcn.h>

namespace gpushare::cuda {

SharedLibrary::SharedLibrary(const std::string& path)
    : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* reason = dlerror();
  throw CudaError("cannot open " + path + ": " + (reason != nullptr ? reason : "no reason given"));
}

void* SharedLibrary::symbol(const char* name) const { return dlsym(handle_, name); }

}  // namespace gpushare::cuda
