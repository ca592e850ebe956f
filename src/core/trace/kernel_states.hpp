// SPDX-License-Identifier: Apache-2.0
// The states of a launch as EffiSha (section 5) names them, derived from a recorded run. EffiSha's scheduler keeps them
// in memory shared by host and GPU; here a trace implies them.
#pragma once

#include <string_view>
#include <vector>

#include "core/engine/trace.hpp"
#include "core/model/workload.hpp"

namespace gpushare {

enum class KernelState : std::uint8_t {
  Prep,     ///< its application has arrived: it waits for memory, for copies, or for the launch before it
  Ready,    ///< it waits, and no plan gives it anything
  ToRun,    ///< a plan gives it room, and it has no block on the GPU yet
  Running,  ///< its blocks are on the GPU, and more may start
  ToEvict,  ///< the plan has taken everything from it, and its blocks have not ended yet
  Done,
};

/// As in the paper: "PREP", "READY"...
std::string_view name_of(KernelState state);

/// A launch was in this state from `begin` to `end`. Done has no length.
struct KernelStateSpan {
  ApplicationId application{};
  OperationId operation{};
  KernelState state{};
  Time begin{};
  Time end{};
  friend bool operator==(const KernelStateSpan&, const KernelStateSpan&) = default;
};

/// The states of every launch, in order of operations and time, without gaps from the arrival of its application (or
/// the end of the launch before it) to its end. States that lasted no time are left out. A launch of which all blocks
/// have started cannot be evicted, and runs to its end.
std::vector<KernelStateSpan> kernel_states(const Trace& trace, const Workload& workload);

}  // namespace gpushare
