// SPDX-License-Identifier: Apache-2.0
#include "core/session/open_run/handover.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// Places that are taken all the time end places / duration blocks per time (Little's law).
Duration mean_block_time(const RunningLaunch& launch, Time now) {
  Duration busy{};
  std::int64_t done = 0;
  for (const SmProgress& sm : launch.per_sm) {
    if (sm.done == 0) continue;
    const std::int64_t places = sm.resident > 0 ? sm.resident : std::min<std::int64_t>(launch.max_residency, sm.done);
    busy += sm.active(now) * places;
    done += sm.done;
  }
  return done > 0 ? busy / done : Duration{};
}

Event of(const RunningLaunch& launch, EventKind kind, Time time) {
  return {.time = time, .application = launch.application, .operation = launch.id, .kind = kind};
}

Event blocks_of(const RunningLaunch& launch, EventKind kind, Time time, std::size_t sm, std::int64_t first,
                std::int64_t blocks) {
  Event event = of(launch, kind, time);
  event.started = time;
  event.sm = static_cast<SmId>(sm);
  event.block = first;
  event.blocks = static_cast<std::int32_t>(blocks);
  return event;
}

/// The blocks that have ended: they began when the SM did, as far as the time it was at it tells, and end now.
void append_done(const RunningLaunch& launch, Time now, std::vector<Event>& starts, std::vector<Event>& ends) {
  const Duration mean = mean_block_time(launch, now);
  std::int64_t before = 0;
  for (std::size_t sm = 0; sm < launch.per_sm.size(); ++sm) {
    const SmProgress& progress = launch.per_sm[sm];
    if (progress.done == 0) continue;
    const Time begin = std::max(launch.arrival, now - progress.active(now));
    starts.push_back(blocks_of(launch, EventKind::BlockStarted, begin, sm, before, progress.done));
    ends.push_back(blocks_of(launch, EventKind::BlockEnded, now, sm, before, progress.done));
    ends.back().started = std::max(begin, now - mean);
    before += progress.done;
  }
}

void append_resident(const RunningLaunch& launch, Time now, std::vector<Event>& starts, std::vector<Event>& latest) {
  std::int64_t before = launch.done;
  for (std::size_t sm = 0; sm < launch.per_sm.size(); ++sm) {
    const SmProgress& progress = launch.per_sm[sm];
    if (progress.resident == 0) continue;
    // For an SM that has ended blocks, these carry its active time.
    const Time begin = progress.done > 0 ? now : std::max(launch.arrival, now - progress.active(now));
    (progress.done > 0 ? latest : starts)
        .push_back(blocks_of(launch, EventKind::BlockStarted, begin, sm, before, progress.resident));
    before += progress.resident;
  }
}

}  // namespace

std::vector<Event> history_of(const State& state, std::span<const ApplicationId> present) {
  const Time now = state.now();
  std::vector<Event> history;
  for (const ApplicationId id : present) {
    const Time arrival = std::min(Time(state.application(id).arrival), now);
    history.push_back({.time = arrival, .application = id, .kind = EventKind::ApplicationArrived});
    history.push_back(
        {.time = arrival, .block = state.priority(id), .application = id, .kind = EventKind::PriorityChanged});
  }
  std::vector<Event> latest;
  for (const RunningLaunch& launch : state.running()) {
    history.push_back(of(launch, EventKind::LaunchArrived, launch.arrival));
    append_done(launch, now, history, latest);
    if (launch.elsewhere == 0) continue;
    latest.push_back(of(launch, EventKind::BlocksExpected, now));
    latest.back().block = launch.here();
  }
  for (const RunningLaunch& launch : state.running()) append_resident(launch, now, history, latest);
  std::ranges::stable_sort(history, {}, &Event::time);
  history.insert(history.end(), latest.begin(), latest.end());
  history.push_back({.time = now, .kind = EventKind::DeadlineReached});
  return history;
}

}  // namespace gpushare
