// SPDX-License-Identifier: Apache-2.0
// Whose launches have to wait for others: those that have taken much longer than the shortest one did. Told from
// turnarounds alone, so that it holds for kernels of which nothing is known.
#pragma once

#include <map>

#include "core/state.hpp"

namespace gpushare {

class HeldUp {
 public:
  /// Feed every event, after the state includes it.
  void observe(const Event& event);

  /// Has one of its launches, since the application came?
  bool has_been(ApplicationId application) const;

 private:
  struct Known {
    Time arrival{};
    Duration shortest = Duration::max();
    bool held_up = false;
  };
  std::map<ApplicationId, Known> applications_;  // that have not ended
};

}  // namespace gpushare
