// SPDX-License-Identifier: Apache-2.0
// This process's membership in a program: the page that GPUSHARE_PROGRAM names, and the process's slot in it. The slot
// is taken at the first use of CUDA, and released at the end. A forked process is no member until it uses CUDA.
#pragma once

#include <atomic>

#include "programs/program_page.hpp"

namespace gpushare::intercept {

struct Membership {
  programs::ProgramPage* page = nullptr;
  programs::ProcessSlot* slot = nullptr;
  bool makes_workers = false;  ///< ProgramPage::makes_workers, beside what every launch reads
};

extern std::atomic<const Membership*> membership;

/// Maps the page and takes a slot at the first call; nullptr where there is none to be had.
const Membership* join();

/// nullptr: all calls pass through.
inline const Membership* this_member() {
  const Membership* found = membership.load(std::memory_order_acquire);
  return found != nullptr ? found : join();
}

/// Is GPUSHARE_PROGRAM_VERBOSE set?
bool is_verbose();
/// Writes a line to stderr.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

/// Frees the slots of dead processes: their memory is free already.
void release_dead_slots(programs::ProgramPage& page);

}  // namespace gpushare::intercept
