// SPDX-License-Identifier: Apache-2.0
// Control flow at random, to hold fast algorithms against definitions.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "core/transform/flow/control_flow.hpp"

namespace gpushare::ptx {

/// Some labels, each followed by a return or a branch on a value that is the same for all threads (%p2) or not (%p1).
inline std::string random_body(std::mt19937_64& random) {
  const std::size_t labels = 1 + random() % 12;
  std::string body = "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n";
  for (std::size_t label = 0; label < labels; ++label) {
    constexpr const char* guards[] = {"", "@%p1 ", "@%p2 ", "@%p2 "};
    body += "$L" + std::to_string(label) + ":\nmov.u32 %r2, 1;\n" + guards[random() % 4];
    body += random() % 6 == 0 ? "ret;\n" : "bra $L" + std::to_string(random() % labels) + ";\n";
  }
  return body + "ret;\n";
}

/// What can be reached from a block without passing this one.
inline std::vector<bool> reached(const ControlFlow& flow, std::size_t from, const std::vector<bool>& barred) {
  std::vector<bool> seen(flow.exit_block() + 1, false);
  std::vector<std::size_t> open{from};
  while (!open.empty()) {
    const std::size_t block = open.back();
    open.pop_back();
    if (block == flow.exit_block()) continue;
    for (const std::size_t next : flow.blocks()[block].successors) {
      if (barred[next] || seen[next]) continue;
      seen[next] = true;
      open.push_back(next);
    }
  }
  return seen;
}

}  // namespace gpushare::ptx
