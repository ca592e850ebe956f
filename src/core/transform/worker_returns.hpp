// SPDX-License-Identifier: Apache-2.0
// How workers hand back what they have claimed and not begun, and take what others have handed back: worker_control.hpp
// says how turns and slots work.
#pragma once

#include <string>

namespace gpushare::ptx::worker_text {

/// Hands back %gpushare_j tasks from %gpushare_next on, some of which may lie behind the end of the grid.
std::string hand_back();

/// Goes to $gpushare_claimed with a chunk in %gpushare_next and %gpushare_j, or on if there is none. `place` tells it
/// from the other places where this is done.
std::string take_back(const std::string& place);

}  // namespace gpushare::ptx::worker_text
