// SPDX-License-Identifier: Apache-2.0
// How a run fails. The message names kernel, block, thread and PTX line.
#pragma once

#include <stdexcept>

namespace gpushare::interpreter {

/// The kernel did what a GPU does not allow: a bad address, a barrier in a diverged warp, a trap.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An access to memory that is not there, or misaligned.
struct BadAddress : Fault {
  using Fault::Fault;
};

/// No thread of a block can run. The message lists what each one waits for.
struct Deadlock : Fault {
  using Fault::Fault;
};

/// The run took more instructions than allowed: threads spin on what never comes.
struct Endless : Fault {
  using Fault::Fault;
};

}  // namespace gpushare::interpreter
