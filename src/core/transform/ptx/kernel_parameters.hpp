// SPDX-License-Identifier: Apache-2.0
// The parameters of a kernel according to its PTX: sizes, and which of them are surely pointers.
#pragma once

#include <string>
#include <vector>

namespace gpushare::ptx {

struct KernelParameter {
  std::string name;
  std::string type;  ///< as PTX has it: ".u32"; ".b8" for an aggregate
  std::size_t bytes = 0;
  std::size_t alignment = 0;
  bool is_pointer = false;  ///< marked .ptr, or its value is used as an address; false proves nothing
};

struct KernelSignature {
  std::string name;
  std::vector<KernelParameter> parameters;
};

/// One per entry, in the order of the module. Throws InvalidInput where the text is no PTX.
std::vector<KernelSignature> kernel_signatures(const std::string& ptx);

}  // namespace gpushare::ptx
