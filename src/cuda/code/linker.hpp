// SPDX-License-Identifier: Apache-2.0
// PTX to machine code by nvJitLink, NVIDIA's assembler and linker as a library. Needs no GPU.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cuda/driver/shared_library.hpp"

namespace gpushare::cuda {

struct Linked {
  bool succeeded = false;
  std::string cubin;      ///< empty if it failed
  std::string error_log;  ///< what is wrong with the PTX or the options
  std::string info_log;   ///< with -verbose: registers, spills and shared memory of every kernel
};

struct LinkerApi;

class Linker {
 public:
  /// Throws CudaError where the library cannot be opened or has none of the known versions of its functions.
  explicit Linker(const std::string& path);

  /// Major and minor of the functions in use, as in 13.0.
  std::pair<int, int> version() const;

  /// PTX that cannot be assembled gives a log, not an exception.
  Linked link(const std::string& ptx, const std::string& name, const std::vector<std::string>& options) const;

 private:
  const LinkerApi& api_;
};

}  // namespace gpushare::cuda
