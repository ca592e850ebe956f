// SPDX-License-Identifier: Apache-2.0
// The life of a launch on a real GPU.
//
//     Queued --started--> Resident --told to leave--> Evicting --all grids ended--> Drained --ended--> Ended
//                            |  ^------ granted --------'                              |
//                            |  ^--------------------- started ------------------------'
//                            '------ all grids ended ------> Drained
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "core/model/errors.hpp"

namespace gpushare {

enum class LaunchPhase {
  Queued,    ///< nothing of it has gone to the hardware
  Resident,  ///< grids of it are on the hardware
  Evicting,  ///< and its workers have been told to leave
  Drained,   ///< its grids have ended; it may have tasks left, or a poll may have to show its progress
  Ended
};

enum class LaunchStep {
  Started,      ///< a grid goes to the hardware
  ToldToLeave,  ///< it may have nothing on any SM
  Granted,      ///< it may have something on some SM
  GridsEnded,   ///< the last of its grids has ended
  Ended         ///< every block that will ever start has ended and been reported
};

/// The phase after a step. A step that is impossible in a phase is a defect of the caller.
inline LaunchPhase after(LaunchPhase phase, LaunchStep step) {
  using enum LaunchPhase;
  constexpr std::optional<LaunchPhase> never{};
  // Grants come at any time, so they have no effect where nothing is on the hardware.
  static constexpr std::array<std::array<std::optional<LaunchPhase>, 5>, 5> next{{
      //             Started   ToldToLeave  Granted   GridsEnded  Ended
      /* Queued */ {{Resident, Queued, Queued, never, Ended}},
      /* Resident */ {{Resident, Evicting, Resident, Drained, never}},
      /* Evicting */ {{never, Evicting, Resident, Drained, never}},
      /* Drained */ {{Resident, Drained, Drained, never, Ended}},
      /* Ended */ {{never, Ended, Ended, never, Ended}},
  }};
  const auto& found = next[static_cast<std::size_t>(phase)][static_cast<std::size_t>(step)];
  GPUSHARE_EXPECT(found.has_value(), "a launch takes no step that its phase excludes");
  return *found;
}

}  // namespace gpushare
