// SPDX-License-Identifier: Apache-2.0
// Orders to the workers of a program's kernels, which its GPUs read in its page. A held program's workers leave at the
// end of their blocks, and its streams stop in front of the next round; let go, they continue.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "core/transform/worker/worker_control.hpp"
#include "programs/program_page.hpp"

namespace gpushare::programs {

/// As many workers as have room. A chunk has 128 tasks at most, and fewer where a launch says so by its own guide.
constexpr WorkerOrder all_workers{.quota = 0xffff, .chunk = 128};
constexpr WorkerOrder no_workers{.quota = 0, .chunk = 1};

inline bool may_workers_go(const WorkerWords& words) { return (words.go.load(std::memory_order_acquire) & 1) != 0; }

inline void store_orders(WorkerWords& words, WorkerOrder order) {
  for (auto& each : words.orders) each.store(std::bit_cast<std::uint32_t>(order), std::memory_order_relaxed);
}

/// Brings the orders in line with the word, which has just been changed. The scheduler, the keeper and the program's
/// processes may all change it, and one of them may have stopped in the midst of its orders: each looks once more when
/// it has stored its own, so the last one leaves the right ones.
inline void settle_orders(WorkerWords& words) {
  std::uint32_t go;
  do {
    go = words.go.load();
    store_orders(words, (go & 1) != 0 ? all_workers : no_workers);
  } while (words.go.fetch_or(0) != go);  // no mere load: that could be done before the orders are visible
}

/// The word comes before the orders: a worker that has seen its order leaves, and its stream must then find the word.
inline void hold_workers(WorkerWords& words) {
  std::uint32_t go = words.go.load();
  do {
    if ((go & 1) == 0) return;
  } while (!words.go.compare_exchange_weak(go, go + 1));
  settle_orders(words);
}

/// The other way round: workers that start find orders to stay. Does not end a hold that begins meanwhile.
inline void let_workers_go(WorkerWords& words) {
  std::uint32_t go = words.go.load();
  if ((go & 1) != 0) return;
  store_orders(words, all_workers);
  words.go.compare_exchange_strong(go, go | 1);
  settle_orders(words);
}

}  // namespace gpushare::programs
