// SPDX-License-Identifier: Apache-2.0
// One after the other instead of side by side: may those who have seats, and does it promise more?
#pragma once

#include "core/tuning/mixer.hpp"
#include "core/tuning/serial_order.hpp"

namespace gpushare {

/// There is somebody to take turns with, nobody suffers by it, and it is known what a mix would do.
bool may_take_turns(const Mixer& mixer);

/// Is what turns promise more than what the mixer's division does? `are_whole`: launches are left whole. `antt`: the
/// bound of the mean slowdown, which goes first.
bool turns_promise_more(const Mixer& mixer, const LaunchGaps& gaps, const Device& device, bool are_whole, double antt);

}  // namespace gpushare
