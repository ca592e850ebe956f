// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/waits.hpp"

#include "core/transform/flow/loops.hpp"
#include "core/transform/waits/spin_loop_detector.hpp"

namespace gpushare::ptx {

bool has_waiting_loop(const Module& module, const Function& function, const ControlFlow& flow,
                      const ExecutedReads& reads) {
  const Loops loops{function, flow};
  if (loops.cycles.all().empty()) return false;
  SpinLoopDetector spin_loops(module, loops, reads);
  for (std::size_t cycle = 0; cycle < loops.cycles.all().size(); ++cycle) {
    if (spin_loops.any(cycle)) return true;
  }
  return false;
}

}  // namespace gpushare::ptx
