// SPDX-License-Identifier: Apache-2.0
// The variables of a PTX module: memory through which launches, or the host, leave values for later launches.
#pragma once

#include <string>
#include <vector>

namespace gpushare::ptx {

struct ModuleVariable {
  std::string name;
  std::string type;                    ///< of an element: ".u32"; ".b8" also for structs, and for arrays of NVRTC's
  std::vector<std::size_t> extents{};  ///< empty: no array
  std::size_t bytes = 0;
  bool is_constant = false;  ///< in constant memory: the host can set it, and no kernel can
  bool is_managed = false;
  bool is_written = false;  ///< perhaps, by a kernel of the module
  bool is_used = false;     ///< by the given kernel, or by functions that it may call
};

/// The variables that kernels can write or the host can set, in the order of the module. Left out are variables that no
/// kernel mentions, since they make no difference; those that other modules define; and the compiler's, such as the
/// texts of printf() and tables of sin(), with names that begin with '$' or "__".
/// Throws InvalidInput where the text is no PTX, or has no such entry.
std::vector<ModuleVariable> module_variables(const std::string& ptx, const std::string& entry);

}  // namespace gpushare::ptx
