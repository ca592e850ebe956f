// SPDX-License-Identifier: Apache-2.0
// This process as one of the program's: the page that GPUSHARE_PROGRAM names, and the process's slot in it. It is taken
// when CUDA is first used, and given back at the end. A forked process is none of the program's until it uses CUDA.
#pragma once

#include <atomic>

#include "programs/program_page.hpp"

namespace gpushare::intercept {

struct Membership {
  programs::ProgramPage* page = nullptr;
  programs::ProcessSlot* slot = nullptr;
};

extern std::atomic<const Membership*> membership;

/// Maps the page and takes a slot at the first call; nullptr where there is none to be had.
const Membership* join();

/// nullptr: all calls pass through.
inline const Membership* this_member() {
  const Membership* found = membership.load(std::memory_order_acquire);
  return found != nullptr ? found : join();
}

/// Is it GPUSHARE_PROGRAM_VERBOSE?
bool is_verbose();
/// A line on stderr.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

/// Gives back the slots of processes that are dead: their memory is free.
void release_dead_slots(programs::ProgramPage& page);

}  // namespace gpushare::intercept
