// SPDX-License-Identifier: Apache-2.0
// A snapshot of a session for display.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/session/open_run/open_run.hpp"

namespace gpushare {

struct ApplicationStatus {
  ApplicationId id{};
  DeviceId device{};  ///< where a session has several
  std::string name;
  int priority = 0;
  double weight = 1;
  /// "idle"; "copying"; "waiting": no plan gives its launch anything, or the ordering has not let its operation go;
  /// "starting": a plan gives it something, and no block has begun yet; "running"; "leaving": the plan has taken
  /// everything away, and its blocks end; "cancelled": so it is for good.
  std::string state = "idle";
  std::size_t waiting = 0;  ///< operations behind the present one
  std::string kernel{};     ///< of its present launch, as everything up to `quota`
  std::int64_t blocks = 0;  ///< of the grid
  std::int64_t started = 0;
  std::int64_t done = 0;
  std::string quota{};          ///< as short_form() writes it
  Duration sm_time{};           ///< time on each SM with at least one block, summed over the SMs
  std::int64_t operations = 0;  ///< that have ended
  std::int64_t preemptions = 0;
  Duration elapsed{};                   ///< since it came
  std::optional<Duration> remaining{};  ///< of the present launch, alone (remaining_time()), where something says so
  /// It has a deadline that its last operation has missed, or the present one does, even alone from now on.
  bool is_late = false;
};

struct SessionStatus {
  Time now{};
  std::vector<ApplicationStatus> applications{};  ///< those that have not ended, in order of arrival
};

SessionStatus status_of(const OpenRun& run, Time now);

/// Blocks per SM: "8", or by ranges of SMs, those with none left out: "8 on 0-65, 2 on 66".
std::string short_form(const Quota& quota);

/// How long the rest of a launch takes if it has the GPU to itself from now on: on all SMs that it has blocks for, at
/// the pace at which an SM has ended its blocks so far, or by its profile, if there is one, before the first has ended.
/// So it does not jump when others squeeze the launch onto a few SMs for a moment, and is too small while they stay.
std::optional<Duration> remaining_time(const RunningLaunch& launch, const State& state, Time now);

}  // namespace gpushare
