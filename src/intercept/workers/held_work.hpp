// SPDX-License-Identifier: Apache-2.0
// A thread that looks after work that a hold has stopped on the GPU. No thread of the program waits there that could
// end a hold which lasts too long, or that no process is left to end.
#pragma once

#include "intercept/membership.hpp"

namespace gpushare::intercept {

/// Starts it, once in a process. False where there can be none.
bool look_after_held_work(const Membership& member);

}  // namespace gpushare::intercept
