// SPDX-License-Identifier: Apache-2.0
// Memory by which the schedulers of one program's GPUs, each in a process of its own, agree. The program cannot write
// it: by false numbers it would hold the programs of others.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gpushare::programs {

constexpr std::size_t most_gpus = 16;  ///< that a program is scheduled on

struct GangBoard {
  struct Gpu {
    alignas(64) std::atomic<std::uint64_t> demand;  ///< of the other programs there; 0: none schedules the program
    std::atomic<std::int32_t> scheduler;            ///< process id
  };
  std::array<Gpu, most_gpus> gpus;
  alignas(64) std::atomic<std::uint32_t> news;  ///< grows when a demand changes; a futex for schedulers
  /// By the leader: on so many SMs of its device (above bit 16) the program takes so many threads each (below).
  std::atomic<std::uint32_t> running;
  /// On the steady clock. Until then the work that the program has under way is limited, as it is soon held again.
  std::atomic<std::int64_t> limited_until_ns;
};

static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace gpushare::programs
