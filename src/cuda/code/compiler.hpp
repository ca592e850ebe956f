// SPDX-License-Identifier: Apache-2.0
// CUDA C++ to PTX by NVRTC, NVIDIA's compiler as a library. Needs no GPU.
//
// NVRTC can crash on invalid source and cannot be interrupted, so users' source is compiled in a separate process
// (python/gpushare/kernels/compiler_process.py).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cuda/driver/shared_library.hpp"

namespace gpushare::cuda {

struct Compilation {
  bool succeeded = false;
  std::string log;                         ///< errors and warnings, with the user's file name
  std::string ptx;                         ///< empty if it failed
  std::vector<std::string> lowered_names;  ///< of the name expressions, in their order: names of entries in the PTX
};

struct CompilerApi;

class Compiler {
 public:
  /// Opens libnvrtc, and before it libnvrtc-builtins, which some packages install where libnvrtc does not search. With
  /// an empty path for the latter libnvrtc searches for it. Throws CudaError where either cannot be opened.
  Compiler(const std::string& path, const std::string& builtins_path);

  /// Major and minor, as in 13.0.
  std::pair<int, int> version() const;

  /// Compute capabilities that it compiles for: 90 for sm_90.
  std::vector<int> architectures() const;

  /// Source that does not compile gives a log, not an exception. Throws CudaError where NVRTC itself fails.
  Compilation compile(const std::string& source, const std::string& file_name,
                      const std::vector<std::string>& name_expressions, const std::vector<std::string>& options) const;

 private:
  const CompilerApi& api_;
};

/// The C++ signature behind a mangled name; empty if the name is not mangled.
std::string demangled(const std::string& name);

}  // namespace gpushare::cuda
