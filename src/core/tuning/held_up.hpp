// SPDX-License-Identifier: Apache-2.0
// Whose launches others hold up: those that take much longer than the shortest one did. Told from turnarounds alone, so
// that it holds for kernels of which nothing is known. Beside somebody who is always there no launch may ever be short,
// and so some of an application's first launches are to have room kept for them, which shows how short they can be.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "core/engine/event.hpp"

namespace gpushare {

class HeldUp {
 public:
  void observe(const Event& event);

  /// Is room to be kept for the application's launches?
  bool needs_room(ApplicationId application) const;

 private:
  struct Known {
    Time arrival{};
    std::int64_t launches = 0;  ///< that have ended
    Duration shortest = Duration::max();
    std::array<Duration, 2> longest{};  ///< one may have been an accident
  };
  std::map<ApplicationId, Known> applications_;  // that have not ended
};

}  // namespace gpushare
