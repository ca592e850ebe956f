// SPDX-License-Identifier: Apache-2.0
// The sixteen named barriers of a block.
//
// An exited thread counts as arrived: it is taken out of barriers for all threads, and a barrier with a count, which
// the hardware counts by warps, gets 32 from a warp once its live threads have arrived.
#pragma once

#include <cstdint>
#include <vector>

namespace gpushare::interpreter {

struct Block;
struct Thread;
struct Operation;

enum class BarrierKind : std::uint8_t { Sync, Arrive, ReducePopulation, ReduceAnd, ReduceOr };

struct Barrier {
  std::vector<std::uint32_t> waiting;  ///< threads
  std::vector<std::uint32_t> arrived;  ///< by warp: the lanes that wait or have arrived
  std::uint32_t count = 0;             ///< of threads to wait for; 0: all
  std::uint32_t trues = 0;             ///< of those whose predicate held
  bool reduces = false;
  bool in_use = false;
};

/// A thread comes to a barrier. It waits, unless it only arrives.
void arrive(Thread& thread, const Operation& operation);

/// Opens the barriers for which no thread is missing any more.
void open_complete_barriers(Block& block);

}  // namespace gpushare::interpreter
