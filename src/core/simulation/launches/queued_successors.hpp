// SPDX-License-Identifier: Apache-2.0
// The next launch of every application that has announced one: it waits in hardware behind the launch before it, and
// starts sooner than a launch that the host brings, with the quota that the other one had.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "core/engine/gpu.hpp"

namespace gpushare {

class QueuedSuccessors {
 public:
  /// What a launch that has ended leaves to its successor.
  struct Vacancy {
    Quota quota;
    bool leaves_rest = false;
    double free_at = 0;
  };

  void announce(const Submission& next) {
    if (std::holds_alternative<Launch>(*next.operation)) next_[next.application] = {.id = next.id};
  }
  void forget(ApplicationId application) { next_.erase(application); }

  /// The application's launch has ended. Nothing happens where it has announced none.
  void leave(ApplicationId application, Vacancy vacancy) {
    const auto next = next_.find(application);
    if (next != next_.end()) next->second.vacancy = std::move(vacancy);
  }

  /// What was left to this launch, if it is the one that was announced.
  std::optional<Vacancy> take(const Submission& launch) {
    const auto next = next_.find(launch.application);
    if (next == next_.end()) return std::nullopt;
    std::optional<Vacancy> vacancy;
    if (next->second.id == launch.id) vacancy = std::move(next->second.vacancy);
    next_.erase(next);
    return vacancy;
  }

 private:
  struct AnnouncedLaunch {
    OperationId id{};
    std::optional<Vacancy> vacancy{};
  };
  std::map<ApplicationId, AnnouncedLaunch> next_;
};

}  // namespace gpushare
