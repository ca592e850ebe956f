// SPDX-License-Identifier: Apache-2.0
// The requirements of a kernel's worker, or the reason why the kernel cannot become one.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/transform/waits/function_analyses.hpp"

namespace gpushare::ptx {

/// Why a kernel runs in its original form. It still takes part in every policy, as a non-preemptible launch.
struct Refusal {
  std::string reason;
  std::size_t line = 0;  ///< of the PTX, 0 where the reason is no single line
  /// Blocks wait for others that may not have begun: it ends only where all blocks of the grid fit the GPU at once.
  bool needs_all_blocks = false;
};

/// Where the workers of one launch run.
enum class Reach {
  OneDevice,
  /// They claim from one counter, which one of the devices has. What orders the memory of one device orders that of all
  /// (atomics and fences get the scope of the system), and tasks that would need more are refused.
  SeveralDevices
};

struct WorkerNeeds {
  Reach reach = Reach::OneDevice;
  /// Some threads may return while others still meet at a barrier: all barriers go through one site.
  bool single_barrier_site = false;
  /// Tasks share memory within the block: no thread starts the next task before all have ended this one.
  bool barrier_between_tasks = false;
  /// Blocks of other shapes run in the original form.
  BlockShapes blocks{};
  /// One thread loads these for all of its block, as tokens of the instructions: then no thread returns before others
  /// meet. Each costs two barriers, and the single site may cost half of the residency.
  std::vector<std::size_t> loads_for_all{};
  /// Instructions (as tokens) that initialize an mbarrier which may still be valid from the task before: it is
  /// invalidated first.
  std::vector<std::size_t> lasting_mbarriers{};
  /// Called functions read the logical block index, which then has to be in memory that they can see.
  bool functions_read_block_index = false;
  /// Asynchronous copies must have landed before the next task reuses their buffers.
  bool waits_for_copies = false;
  bool waits_for_bulk_copies = false;
  /// Blocks may wait for others: a claimed task must run at once, or others wait for it. One task is claimed at a time.
  /// (Look-back scan with chunks of 16: 88 times the time.)
  bool waits_for_blocks = false;
  /// Tensor cores and bulk copies select banks by the bits of shared addresses: dynamic shared memory has to begin at
  /// the same offset as in the original, modulo the span of such an address pattern.
  bool keeps_shared_alignment = false;
};

/// The needs of a worker of this kernel, or the first reason against making one.
std::variant<WorkerNeeds, Refusal> judge(const Module& module, const Function& entry, FunctionAnalyses& analyses,
                                         Reach reach = Reach::OneDevice);

}  // namespace gpushare::ptx
