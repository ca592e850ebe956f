// SPDX-License-Identifier: Apache-2.0
// One after the other: who is next, and what that promises.
#pragma once

#include <map>
#include <vector>

#include "core/tuning/remaining_time.hpp"
#include "core/tuning/seating.hpp"

namespace gpushare {

/// Between an application's launches the GPU has nothing of it to do: from its last block's end to the next one's
/// first. In a mix its room is idle for that time; one after the other, somebody else has the GPU.
class LaunchGaps {
 public:
  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// The shortest seen, in nanoseconds; before that what the device's commands take.
  double of(ApplicationId application, const Device& device) const;

 private:
  struct Known {
    Time last_end{};
    bool is_open = false;
    double shortest = -1;  // longer ones waited for room
  };
  std::map<ApplicationId, Known> applications_;  // that have not ended
};

/// The launches that have seats, shortest remaining time first; unknown counts as shortest. Who has begun gives way
/// only to somebody who needs less than a tenth of its time, less 100 us: handing over costs, and a launch that is
/// stopped half way leaves SMs half full twice, while one that runs to its end has others fill its last wave. Who has
/// been there for longer than a launch of everybody takes comes before all that: else who comes back at once and takes
/// no longer would always be preferred.
std::vector<OperationId> serial_order(const Seating& seating, const RemainingTime& remaining, const State& state);

/// The launches that have seats, first come first.
std::vector<OperationId> order_of_arrival(const Seating& seating, const State& state);

/// What the company gets done, relative to alone, if its launches take turns (1: as much as one would alone).
double serial_throughput(const Seating& seating, const LaunchGaps& gaps, const Device& device);
/// What a mix with these speeds gets done when gaps count as well.
double mixed_throughput(const Seating& seating, const std::vector<double>& speeds, const LaunchGaps& gaps,
                        const Device& device);
/// The same where speeds have been measured, gaps and all: relative to loops, which have gaps by themselves, too.
double measured_throughput(const Seating& seating, const std::vector<double>& speeds, const LaunchGaps& gaps,
                           const Device& device);
/// The mean slowdown if those that have seats run one after the other, shortest first.
double serial_antt(const Seating& seating);

}  // namespace gpushare
