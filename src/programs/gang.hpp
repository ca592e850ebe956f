// SPDX-License-Identifier: Apache-2.0
// A program on several GPUs runs on all of them at the same moment, or on none: its processes wait for each other in
// collectives. One GPU's scheduler leads, and decides about the program as about any other; on the other GPUs the
// program goes first while it runs.
//
// The scheduler leads on whose GPU the other programs have the highest priority, and of these the one with most
// programs: so the program gives way to every program of a higher priority, and takes no more than its share where
// least is left. Each scheduler publishes what the other programs ask for on its GPU, and finds the leader by itself.
#pragma once

#include <cstdint>

#include "programs/program_page.hpp"

namespace gpushare::programs {

/// The other programs on a GPU that have work.
struct OtherPrograms {
  int count = 0;
  int priority = 0;  ///< the highest of theirs
};

/// A program's schedule on one of its GPUs, from its making until it leaves.
class GangMember {
 public:
  /// `gpu`: its number among those of the program.
  GangMember(ProgramPage& page, std::size_t gpu);

  /// Does this GPU's scheduler decide when the program runs?
  bool leads() const;
  /// On how many GPUs is the program scheduled?
  int gpus() const;
  /// For this GPU's scheduler. Where the program has other GPUs, those learn of it.
  void note(OtherPrograms others);
  /// This GPU does not schedule the program any more.
  void leave() { leave(page_, gpu_); }
  static void leave(ProgramPage& page, std::size_t gpu);

  /// Changes with any demand; for await_news().
  std::uint32_t news() const { return page_.demand_news.load(); }
  /// Waits until there are others than these, or so long.
  void await_news(std::uint32_t seen, std::uint64_t at_most_ns) const;

 private:
  ProgramPage& page_;
  std::size_t gpu_;
};

}  // namespace gpushare::programs
