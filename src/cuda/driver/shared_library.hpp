// SPDX-License-Identifier: Apache-2.0
// A library opened at run time, so that gpushare links nothing of CUDA and works without it.
#pragma once

#include <string>

#include "core/model/errors.hpp"

namespace gpushare::cuda {

/// CUDA, or a part of it, is missing or too old, or a call failed. The message names the call and what to do.
struct CudaError : DeviceError {
  using DeviceError::DeviceError;
};

/// Stays open until the process ends: threads of CUDA may be running in it.
class SharedLibrary {
 public:
  /// Throws CudaError saying why it cannot be opened.
  explicit SharedLibrary(const std::string& path);

  /// The function of this name, or nullptr where the library has none.
  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

  /// As find(), but throws CudaError where the library has none.
  template <typename Function>
  Function* get(const char* name) const {
    if (Function* found = find<Function>(name)) return found;
    throw CudaError(path_ + " has no function " + name + ": it is too old");
  }

 private:
  void* symbol(const char* name) const;

  std::string path_;
  void* handle_;
};

}  // namespace gpushare::cuda
