// SPDX-License-Identifier: Apache-2.0
// What comes next in every application, as far as it has been announced: a launch that waits in hardware behind the one
// before it begins sooner than one that the host brings, in the place that the other one has left.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "core/engine/gpu.hpp"

namespace gpushare {

class LaunchesInLine {
 public:
  struct Place {
    Quota quota;
    bool leaves_rest = false;
    double free_at = 0;
  };

  void announce(const Submission& next) {
    if (std::holds_alternative<Launch>(*next.operation)) next_[next.application] = {.id = next.id};
  }
  void forget(ApplicationId application) { next_.erase(application); }

  /// The application's launch before it has ended. Nothing is kept where nobody waits.
  void leave_place(ApplicationId application, Place place) {
    const auto next = next_.find(application);
    if (next != next_.end()) next->second.place = std::move(place);
  }

  /// The place that was left for this launch, if it is the one that was announced.
  std::optional<Place> take(const Submission& launch) {
    const auto next = next_.find(launch.application);
    if (next == next_.end()) return std::nullopt;
    std::optional<Place> place;
    if (next->second.id == launch.id) place = std::move(next->second.place);
    next_.erase(next);
    return place;
  }

 private:
  struct Next {
    OperationId id{};
    std::optional<Place> place{};
  };
  std::map<ApplicationId, Next> next_;
};

}  // namespace gpushare
