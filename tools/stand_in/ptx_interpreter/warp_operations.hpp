// SPDX-License-Identifier: Apache-2.0
// Instructions that the lanes of a warp execute together.
//
// A lane waits at shfl, vote, match or redux until all live lanes of its mask stand at the same instruction with the
// same mask; at bar.warp.sync another bar.warp.sync with the same mask will do. Lanes that have exited are not waited
// for.
//
// activemask may answer any set of lanes that stand there together. The answer here is as large as it can be: a lane
// waits until no other lane of its warp can run (or has run for long: it may spin until this one goes on).
#pragma once

#include "ptx_interpreter/operation.hpp"

namespace gpushare::interpreter {

/// Which slot of a warp operation holds the mask of its lanes.
constexpr std::size_t mask_slot = 7;

/// Handlers.
void wait_for_lanes(Thread& thread, const Operation& operation);
void wait_for_active_lanes(Thread& thread, const Operation& operation);

/// The collective of bar.warp.sync, which does nothing.
void leave_warp_barrier(Warp& warp, std::uint32_t lanes, const Operation& operation);

/// Does what no lane is missing for any more.
void finish_complete_warp_operations(Warp& warp);

/// Lets the lanes at activemask go on if none else can run or they have waited long enough.
void gather_active_lanes(Warp& warp);

}  // namespace gpushare::interpreter
