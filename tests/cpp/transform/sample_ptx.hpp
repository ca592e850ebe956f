// SPDX-License-Identifier: Apache-2.0
// Small modules for tests of the transformation.
#pragma once

#include <string>

namespace gpushare::ptx {

inline const std::string ptx_header = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// A module with one kernel `k` that takes a pointer, declared registers included.
inline std::string module_with(const std::string& body, const std::string& before = "",
                               const std::string& directives = "") {
  return ptx_header + before + ".visible .entry k(\n\t.param .u64 k_param_0\n)" + directives +
         "\n{\n\t.reg .pred %p<9>;\n\t.reg .b16 %rs<9>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n" + body + "}\n";
}

}  // namespace gpushare::ptx
