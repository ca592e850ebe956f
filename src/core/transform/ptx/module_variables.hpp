// SPDX-License-Identifier: Apache-2.0
// The variables of a PTX module: what its launches find as launches before them, or the host, have left it.
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
  bool is_used = false;     ///< by the kernel that was asked about, or by what it may call
};

/// Those that kernels can write or the host can set, in the order of the module. Not what no kernel mentions, since it
/// makes no difference; what other modules define; and what the compiler itself has put there, such as the texts of
/// printf() and tables of sin(), whose names begin with '$' or "__".
/// Throws InvalidInput where the text is no PTX, or has no such entry.
std::vector<ModuleVariable> module_variables(const std::string& ptx, const std::string& entry);

}  // namespace gpushare::ptx
