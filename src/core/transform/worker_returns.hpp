// SPDX-License-Identifier: Apache-2.0
// How workers hand back what they have claimed and not begun, and take what others have handed back: worker_control.hpp
// says how turns and slots work.
#pragma once

#include <string>

namespace gpushare::ptx::worker_text {

/// Hands back %gpushare_j tasks from %gpushare_next on, some of which may lie behind the end of the grid.
std::string hand_back();

/// Goes to $gpushare_claimed_{place} with a chunk in %gpushare_next and %gpushare_j, or on if there is none.
std::string take_back();

}  // namespace gpushare::ptx::worker_text
