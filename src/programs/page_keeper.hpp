// SPDX-License-Identifier: Apache-2.0
// The part of `gpushare run`: it makes a program's page, writes predictions to it, releases the program where the
// server has gone and the places of processes that have died, and reads the launches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/channel/shared_memory.hpp"
#include "programs/program_page.hpp"

namespace gpushare::programs {

struct KernelSummary {
  std::uint64_t key = 0;
  LaunchKind kind{};
  std::string name;
  std::string library;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::uint32_t shared_bytes = 0;
  std::uint64_t launches = 0;
  std::uint64_t samples = 0;
  std::uint64_t sampled_ns = 0;
  std::uint64_t predicted_ns = 0;
};

/// Totals over all of a program's processes so far.
struct ProgramTotals {
  std::uint64_t launches = 0;
  std::uint64_t held_ns = 0;
  std::uint64_t limited_ns = 0;
  std::uint64_t let_go = 0;
  std::uint64_t worker_launches = 0;
  std::uint64_t evictions = 0;
};

/// Why so many kernels, or images of code, run whole though the program asks for workers.
struct WholeReason {
  std::string text;
  std::uint64_t count = 0;
};

class PageKeeper {
 public:
  /// 0: no limit of memory.
  PageKeeper(std::uint64_t memory_limit_bytes, std::uint64_t longest_hold_ns, bool makes_workers = false);

  int descriptor() const { return memory_.descriptor(); }
  /// Releases the program, until a scheduler holds it.
  void free_program();
  /// Holds it as a scheduler does: for measurements without one.
  void hold_program();
  /// How many of the program's streams have stopped in the middle of a kernel.
  int stopped_streams() const;
  /// Frees the places of processes that have ended without doing so, and forgets the work of those that are ending.
  void release_dead();
  /// The processes that use CUDA now.
  std::vector<std::int32_t> processes() const;
  std::uint64_t memory_bytes() const;
  ProgramTotals totals() const;
  /// All launched kernels, in order of first launch.
  std::vector<KernelSummary> kernels() const;
  /// Most frequent first.
  std::vector<WholeReason> whole_reasons() const;
  /// The duration of this kernel's launches, measured in an earlier run. Ignored where the page is full.
  void predict(std::uint64_t key, std::uint64_t ns);

 private:
  ProgramPage& page() const { return *reinterpret_cast<ProgramPage*>(memory_.bytes().data()); }

  daemon::SharedMemory memory_;
};

}  // namespace gpushare::programs
