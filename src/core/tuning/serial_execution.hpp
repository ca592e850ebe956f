// SPDX-License-Identifier: Apache-2.0
// Serial execution of the launches that have slots, one after the other, instead of side by side: in which order, and
// what it promises in comparison.
#pragma once

#include <vector>

#include "core/tuning/co_scheduler.hpp"
#include "core/tuning/launch_gaps.hpp"
#include "core/tuning/remaining_time.hpp"

namespace gpushare {

/// The launches that have slots, shortest remaining time first; unknown counts as shortest. A launch that has started
/// is preempted only for one that needs less than a tenth of its time, less the device's switch cost: an eviction
/// leaves SMs half full twice, while a launch that runs to its end has its last wave filled by the next. A launch that
/// has waited for longer than one launch of each application takes comes before all others: otherwise an application
/// with short launches that return at once would always be preferred.
std::vector<OperationId> serial_order(const CoSchedule& schedule, const RemainingTime& remaining, const State& state);

/// The launches that have slots, in order of arrival.
std::vector<OperationId> order_of_arrival(const CoSchedule& schedule, const State& state);

/// What the co-run set gets done in serial execution, relative to alone (1: as much as one application would alone).
double serial_throughput(const CoSchedule& schedule, const LaunchGaps& gaps, const Device& device);
/// What co-running with these predicted speeds gets done when gaps between launches count as well.
double co_run_throughput(const CoSchedule& schedule, const std::vector<double>& speeds, const LaunchGaps& gaps,
                         const Device& device);
/// The same where speeds are measured, which has the gaps in it: relative to loops, which have gaps alone, too.
double measured_throughput(const CoSchedule& schedule, const std::vector<double>& speeds, const LaunchGaps& gaps,
                           const Device& device);
/// The mean slowdown of serial execution, shortest launch first.
double serial_antt(const CoSchedule& schedule);

/// Are there several launches, none of which a serial execution would harm, and a known speed side by side?
bool may_run_serially(const CoScheduler& scheduler);

/// Does serial execution promise more than the scheduler's allocation? `are_whole`: the launches run as they were
/// written. `antt`: the bound of the mean slowdown, which goes before throughput.
bool serial_is_better(const CoScheduler& scheduler, const LaunchGaps& gaps, const Device& device, bool are_whole,
                      double antt);

}  // namespace gpushare
