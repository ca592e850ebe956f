// SPDX-License-Identifier: Apache-2.0
// Orders to the workers of a program's kernels, which its GPUs read in its page. A held program's workers leave at the
// end of their blocks, and its streams stop in front of the next round; let go, they continue.
#pragma once

#include <bit>

#include "core/transform/worker/worker_control.hpp"
#include "programs/program_page.hpp"

namespace gpushare::programs {

/// As many workers as have room. A chunk has 128 tasks at most, and fewer where a launch says so by its own guide.
constexpr WorkerOrder all_workers{.quota = 0xffff, .chunk = 128};

inline bool may_workers_go(const WorkerWords& words) { return (words.go.load(std::memory_order_acquire) & 1) != 0; }

/// The word comes before the orders: a worker that has seen its order leaves, and its stream must then find the word.
inline void hold_workers(WorkerWords& words) {
  const std::uint32_t go = words.go.load();
  if ((go & 1) == 0) return;
  words.go.store(go + 1);
  constexpr auto none = std::bit_cast<std::uint32_t>(WorkerOrder{.quota = 0, .chunk = 1});
  for (auto& order : words.orders) order.store(none, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// The other way round: workers that start find orders to stay.
inline void let_workers_go(WorkerWords& words) {
  if (may_workers_go(words)) return;
  for (auto& order : words.orders) order.store(std::bit_cast<std::uint32_t>(all_workers), std::memory_order_relaxed);
  words.go.fetch_or(1);
}

}  // namespace gpushare::programs
