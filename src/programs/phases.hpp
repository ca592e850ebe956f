// SPDX-License-Identifier: Apache-2.0
// Phases of a process's work, in the order in which it was issued: copies to the device, kernels, or copies to the
// host, in one stream. The work of a phase lies in its stream behind a gate: the GPU waits there until `go` has come to
// the phase's number. One task is the phases up to `complete`. So an ordering decides what the GPU does next, and the
// driver keeps the meaning of streams, events and errors, as the work is in its queues.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gpushare::programs {

enum class PhaseKind : std::uint32_t { ToDevice = 1, Kernels = 2, ToHost = 3 };

constexpr std::size_t most_phases = 256;  ///< of a process, that have not ended

/// `go` of a process whose work is not ordered. The GPU compares differences, and numbers never come near it.
constexpr std::uint64_t go_always = std::uint64_t{1} << 62;

/// At the place number modulo most_phases. The process writes all but `ended`.
struct Phase {
  alignas(64) std::atomic<std::uint64_t> number;  ///< from 1; set last
  std::atomic<PhaseKind> kind;
  std::atomic<std::uint32_t> unknown;       ///< launches whose time is not known
  std::atomic<std::uint64_t> bytes;         ///< that are copied
  std::atomic<std::uint64_t> predicted_ns;  ///< of launches
  std::atomic<std::uint64_t> calls;         ///< copies and launches
  std::atomic<std::uint64_t> marked;        ///< calls that have a mark behind them, which tells of their end
  std::atomic<std::uint64_t>
      ended;  ///< calls that have ended; the GPU writes it, or the thread that has waited for them
};

struct PhaseLine {
  /// Written by the scheduler: phases up to this number may run. The GPU waits for it.
  alignas(64) std::atomic<std::uint64_t> go;
  /// Written by the process from here on.
  alignas(64) std::atomic<std::int32_t> owner;  ///< its pid, once all of this is its own
  std::atomic<std::uint64_t> begun;             ///< phases so far
  std::atomic<std::uint64_t> complete;          ///< phases up to this number are complete tasks
  std::atomic<std::uint64_t> changed_ns;        ///< the last time something was added, on CLOCK_MONOTONIC
  /// Written by the scheduler: phases up to this number have ended, and their places may be used again.
  alignas(64) std::atomic<std::uint64_t> noticed;
  std::array<Phase, most_phases> phases;

  Phase& at(std::uint64_t number) { return phases[number % most_phases]; }
  const Phase& at(std::uint64_t number) const { return phases[number % most_phases]; }
};

/// `word` never falls.
inline void raise(std::atomic<std::uint64_t>& word, std::uint64_t value) {
  std::uint64_t found = word.load();
  while (found < value && !word.compare_exchange_weak(found, value)) {
  }
}

}  // namespace gpushare::programs
