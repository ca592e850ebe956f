// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/drain_history.hpp"

#include <algorithm>

namespace gpushare {
namespace {

// Chosen on recorded runs; docs/results/predictors.md shows them, and the results of other values.
constexpr double fall_kept = 0.3;
constexpr double overdue = 1.1;
constexpr double done_of_overdue = 0.25;

double active(const RunningLaunch& launch, std::size_t sm, Time now) {
  return nanoseconds(launch.per_sm[sm].active(now));
}

}  // namespace

void DrainHistory::Group::operator+=(const Group& other) {
  blocks += other.blocks;
  busy += other.busy;
}

/// Over the SMs that have reported; `since` over all.
struct DrainHistory::Totals {
  double sms = 0;
  double time = 0;
  double time_after_first = 0;
  double done_after_first = 0;
  double oldest = 0;  // ages in flight
  double since = 0;   // the latest reports
  Group done;
  Group newest;
  Group before;

  /// By what factor blocks are expected to be faster than they were.
  double drift() const {
    if (before.busy <= 0) return 1;
    const double kept = newest.busy / newest.blocks / (before.busy / before.blocks);
    return std::min(1.0, 1 - fall_kept * (1 - kept));
  }
};

DrainHistory::DrainHistory(const RunningLaunch& launch, Time now, bool from_the_start)
    : per_sm_(launch.per_sm.size()), from_the_start_(from_the_start) {
  if (from_the_start) return;
  for (std::size_t id = 0; id < per_sm_.size(); ++id) per_sm_[id].begin = per_sm_[id].latest = active(launch, id, now);
}

/// At least: the mean age tells less than that some of the first blocks have not ended.
double DrainHistory::oldest_in_flight(const SmDrain& sm, double residency) {
  const double time = sm.latest - sm.begin;
  return sm.done.blocks < residency ? time : time - sm.done.busy / residency;
}

void DrainHistory::add(const Event& event, const RunningLaunch& launch) {
  SmDrain& sm = per_sm_[index(event.sm)];
  const double time = active(launch, index(event.sm), event.time);
  const Group group{.blocks = static_cast<double>(event.blocks),
                    .busy = nanoseconds(event.time - event.started) * event.blocks};
  if (sm.done.blocks == 0) {
    sm.first = time;
  } else if (time > sm.latest) {
    sm.before = sm.newest;
    sm.newest = {};
  }
  sm.latest = time;
  sm.done += group;
  sm.newest += group;
  if (time == sm.first) sm.done_at_first = sm.done;  // several single blocks may end at once
}

DrainHistory::Totals DrainHistory::totals(const RunningLaunch& launch, Time now) const {
  Totals all;
  for (std::size_t id = 0; id < per_sm_.size(); ++id) {
    const SmDrain& sm = per_sm_[id];
    all.since += active(launch, id, now) - sm.latest;
    if (sm.done.blocks == 0) continue;
    all.sms += 1;
    all.time += sm.latest - sm.begin;
    all.oldest += oldest_in_flight(sm, launch.max_residency);
    all.time_after_first += sm.latest - sm.first;
    all.done_after_first += sm.done.blocks - sm.done_at_first.blocks;
    all.done += sm.done;
    if (sm.before.blocks == 0) continue;
    all.newest += sm.newest;
    all.before += sm.before;
  }
  return all;
}

double DrainHistory::work_left(const Totals& seen, const RunningLaunch& launch) const {
  const double residency = launch.max_residency;
  const double left = static_cast<double>(launch.unfinished());
  if (seen.done_after_first >= residency * seen.sms) {
    return left * seen.time_after_first / seen.done_after_first * seen.drift();
  }
  const double block_time = seen.done.busy / seen.done.blocks;
  if (!from_the_start_) return left * block_time / residency;
  const bool any_overdue = seen.oldest > overdue * block_time * seen.sms;
  const double in_flight = std::min(left / static_cast<double>(per_sm_.size()), residency) * seen.sms;
  const double done_in_flight =
      any_overdue ? done_of_overdue * in_flight : (residency * seen.time - seen.done.busy) / block_time;
  return (left - done_in_flight) * seen.time / (seen.done.blocks + done_in_flight);
}

Duration DrainHistory::remaining(const RunningLaunch& launch, Time now) const {
  const Totals seen = totals(launch, now);
  const double left = std::max(0.0, work_left(seen, launch) - seen.since);
  return Duration(static_cast<Duration::rep>(left / static_cast<double>(per_sm_.size())));
}

}  // namespace gpushare
