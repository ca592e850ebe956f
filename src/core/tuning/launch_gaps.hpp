// SPDX-License-Identifier: Apache-2.0
// How long the GPU has nothing of an application to do between two of its launches: from the end of the last block to
// the start of the first one. Side by side, the application's SMs are idle for that time; in serial execution another
// application has the GPU.
#pragma once

#include <map>

#include "core/engine/state.hpp"

namespace gpushare {

class LaunchGaps {
 public:
  /// Feed every event.
  void observe(const Event& event);

  /// The shortest gap seen, in nanoseconds; before there is one, the delays of the device's commands.
  double of(ApplicationId application, const Device& device) const;

 private:
  struct Gap {
    Time last_end{};
    bool is_open = false;
    double shortest = -1;  // longer ones waited for room
  };
  std::map<ApplicationId, Gap> applications_;  // that have not ended
};

}  // namespace gpushare
