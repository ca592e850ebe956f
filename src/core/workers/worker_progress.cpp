// SPDX-License-Identifier: Apache-2.0
#include "core/workers/worker_progress.hpp"

#include <algorithm>

namespace gpushare {

WorkerProgress::WorkerProgress(ApplicationId application, OperationId launch, std::int64_t blocks, int sms)
    : event_{.application = application, .operation = launch},
      blocks_(blocks),
      per_sm_(static_cast<std::size_t>(sms)),
      unclaimed_(blocks) {}

void WorkerProgress::report_started(OnSm& sm, SmId id, std::int64_t blocks, Time now, std::vector<Event>& events) {
  blocks = std::min(blocks, blocks_ - started_);
  if (blocks <= 0) return;
  Event event = event_;
  event.kind = EventKind::BlockStarted;
  event.time = event.started = now;
  event.block = started_;
  event.blocks = static_cast<std::int32_t>(blocks);
  event.sm = id;
  events.push_back(event);
  sm.started += blocks;
  started_ += blocks;
}

void WorkerProgress::report_ended(OnSm& sm, SmId id, std::int64_t blocks, Duration block_time, Time now,
                                  std::vector<Event>& events) {
  if (blocks <= 0) return;
  Event event = event_;
  event.kind = EventKind::BlockEnded;
  event.time = now;
  event.started = std::max(Time{}, now - block_time);
  event.block = ended_;
  event.blocks = static_cast<std::int32_t>(blocks);
  event.sm = id;
  events.push_back(event);
  sm.ended += blocks;
  ended_ += blocks;
}

void WorkerProgress::observe(const WorkerControl& control, std::span<const WorkerSm> table, Time now,
                             std::vector<Event>& events) {
  workers_ = 0;
  workers_gone_ = control.workers_gone;
  unclaimed_ = std::max<std::int64_t>(0, blocks_ - control.next_task);
  done_ = 0;
  busy_ = {};
  for (const WorkerSm& counted : table) {
    done_ += counted.tasks_done;
    busy_ += Duration(counted.busy_ns);
  }
  for (std::size_t index = 0; index < table.size(); ++index) {
    const WorkerSm& counted = table[index];
    OnSm& sm = per_sm_[index];
    const auto id = static_cast<SmId>(index);
    sm.workers = static_cast<int>(counted.workers);
    workers_ += sm.workers;
    const std::int64_t newly_done = counted.tasks_done - sm.done;
    const Duration block_time = newly_done > 0 ? (Duration(counted.busy_ns) - sm.busy) / newly_done : Duration{};
    sm.done = counted.tasks_done;
    sm.busy = Duration(counted.busy_ns);
    // At the end of the grid a worker that is present may have found nothing left to claim.
    const std::int64_t running = unclaimed_ > 0 && counted.workers <= counted.quota ? counted.workers : 0;
    report_started(sm, id, std::int64_t{sm.done} + running - sm.started, now, events);
    const std::int64_t ended = finished() ? sm.started : std::min<std::int64_t>(sm.done, sm.started);
    report_ended(sm, id, ended - sm.ended, block_time, now, events);
  }
}

void WorkerProgress::observe_whole(Time started, Time ended, std::vector<Event>& events) {
  const auto sms = static_cast<std::int64_t>(per_sm_.size());
  for (std::int64_t sm = 0; sm < sms; ++sm) {
    const std::int64_t share = blocks_ * (sm + 1) / sms - blocks_ * sm / sms;
    const auto id = static_cast<SmId>(sm);
    report_started(per_sm_[index(id)], id, share, ended, events);
    report_ended(per_sm_[index(id)], id, share, ended - started, ended, events);
  }
  done_ = blocks_;
  unclaimed_ = 0;
}

}  // namespace gpushare
