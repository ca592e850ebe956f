// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits.hpp"

#include "core/transform/cycles.hpp"
#include "core/transform/polling_branches.hpp"
#include "core/transform/self_deciding_reads.hpp"

namespace gpushare::ptx {

bool has_waiting_loop(const Module& module, const Function& function, const ControlFlow& flow,
                      const CalledInstructions& news) {
  const Cycles cycles(flow);
  if (cycles.all().empty()) return false;
  SelfDecidingReads reads(module, function, flow, cycles, news);
  PollingBranches branches(module, function, flow, cycles);
  for (std::size_t cycle = 0; cycle < cycles.all().size(); ++cycle) {
    if (reads.any(cycle) || branches.any(cycle)) return true;
  }
  return false;
}

}  // namespace gpushare::ptx
