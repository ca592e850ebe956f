// SPDX-License-Identifier: Apache-2.0
#include "core/workers/worker_progress.hpp"

#include <algorithm>
#include <cmath>

#include "core/model/errors.hpp"

namespace gpushare {

WorkerProgress::WorkerProgress(ApplicationId application, OperationId launch, std::int64_t blocks, int sms)
    : event_{.application = application, .operation = launch},
      blocks_(blocks),
      per_sm_(static_cast<std::size_t>(sms)),
      workers_by_sm_(static_cast<std::size_t>(sms)),
      unclaimed_(blocks) {}

void WorkerProgress::launched(std::int64_t workers, Time now) {
  if (launched_ == workers_gone_) earliest_ = std::max(earliest_, now);
  launched_ += workers;
}

Event WorkerProgress::group(EventKind kind, SmId sm, std::int64_t first, std::int64_t blocks) const {
  Event event = event_;
  event.kind = kind;
  event.sm = sm;
  event.block = first;
  event.blocks = static_cast<std::int32_t>(blocks);
  return event;
}

/// By time; each then says how many of its launch started before it. Keys are sorted, for they are a quarter as large.
void WorkerProgress::put_in_order(std::span<Event> starts, std::int64_t started_before) {
  order_.clear();
  for (std::size_t place = 0; place < starts.size(); ++place) order_.emplace_back(starts[place].time, place);
  std::ranges::sort(order_);
  unordered_.assign(starts.begin(), starts.end());
  for (std::size_t place = 0; place < starts.size(); ++place) {
    starts[place] = unordered_[order_[place].second];
    starts[place].block = started_before;
    started_before += starts[place].blocks;
  }
}

void WorkerProgress::start(SmId id, std::int64_t blocks, Time time, std::vector<Event>& events) {
  if (blocks <= 0) return;
  Event event = group(EventKind::BlockStarted, id, started_, blocks);
  event.time = event.started = time;
  events.push_back(event);
  per_sm_[index(id)].started += blocks;
  started_ += blocks;
}

void WorkerProgress::end(SmId id, std::int64_t blocks, Duration block_time, Time time, std::vector<Event>& events) {
  if (blocks <= 0) return;
  Event event = group(EventKind::BlockEnded, id, ended_, blocks);
  event.time = time;
  event.started = std::max(Time{}, time - block_time);
  events.push_back(event);
  per_sm_[index(id)].ended += blocks;
  ended_ += blocks;
}

void WorkerProgress::take_totals(const PolledTables& polled) {
  const WorkerControl& control = polled.control;
  // The workers count with 32 bits. A launch that lacks a place for minutes may ask for more than that.
  workers_gone_ += static_cast<std::int32_t>(control.workers_gone - static_cast<std::uint32_t>(workers_gone_));
  unclaimed_ = std::max<std::int64_t>(0, blocks_ - control.next_task);
  workers_ = 0;
  done_ = 0;
  Duration busy{};
  for (const WorkerSm& counted : polled.sms) {
    workers_ += static_cast<int>(counted.workers);
    done_ += counted.tasks_done;
    busy += Duration(counted.busy_ns);
  }
  block_time_ = done_ > 0 ? busy / done_ : Duration{};
}

void WorkerProgress::report_started(SmId id, WorkerOrder order, const WorkerSm& counted, Time now,
                                    std::vector<Event>& events) {
  SmCounts& sm = per_sm_[index(id)];
  const std::int64_t claimed = std::max(blocks_ - unclaimed_, done_);
  const bool any_to_run = unclaimed_ > 0 || claimed > started_;
  const std::int64_t places = std::max<std::int64_t>(any_to_run ? order.quota : 0, sm.running);
  const std::int64_t newly_done = counted.tasks_done - sm.done;
  workers_by_sm_[index(id)] = static_cast<int>(counted.workers);
  sm.running = std::min<std::int64_t>(counted.workers, places);
  sm.block_time = block_time();
  Duration elapsed = sm.block_time;
  // The time of a chunk may be counted before its tasks are: it waits for them.
  if (newly_done > 0) {
    const Duration busy = Duration(counted.busy_ns) - sm.busy;
    if (busy > Duration{}) sm.block_time = busy / newly_done;
    elapsed = std::max(busy, sm.block_time) / std::clamp<std::int64_t>(places, 1, newly_done);
    sm.done = counted.tasks_done;
    sm.busy = Duration(counted.busy_ns);
  }
  const std::int64_t unreported = sm.done + sm.shift + sm.running - sm.started;
  const std::int64_t paid = std::clamp<std::int64_t>(std::min(unreported, newly_done), 0, owed_);
  sm.shift -= paid;
  owed_ -= paid;
  sm.is_behind = unreported - paid > claimed - started_;
  start(id, std::min(unreported - paid, claimed - started_), std::max(earliest_, now - elapsed), events);
}

void WorkerProgress::end_idle_workers(SmId id) {
  SmCounts& sm = per_sm_[index(id)];
  const bool all_hold_places = launched_ > 0 && launched_ - workers_gone_ <= workers_;
  // An end shows the duration of a block, which is unknown before the first one.
  if (!all_hold_places || done_ == 0) return;
  const std::int64_t idle = std::max<std::int64_t>(0, sm.started - sm.done - sm.shift - workers_by_sm_[index(id)]);
  sm.shift += idle;
  owed_ += idle;
}

void WorkerProgress::report_ended(SmId id, Time now, std::vector<Event>& events) {
  SmCounts& sm = per_sm_[index(id)];
  end_idle_workers(id);
  const std::int64_t ended = finished() ? sm.started : std::min(sm.done + sm.shift, sm.started);
  end(id, ended - sm.ended, sm.block_time, now, events);
}

bool WorkerProgress::is_due(std::size_t id, const WorkerSm& counted, Report report) const {
  if (report == Report::Everything || finished()) return true;
  const SmCounts& sm = per_sm_[id];
  // A worker that leaves counts itself out before it publishes its progress.
  const bool has_left_blocks = counted.tasks_done > sm.done && sm.started - sm.ended > counted.workers;
  return static_cast<int>(counted.workers) != workers_by_sm_[id] || (sm.done == 0 && counted.tasks_done > 0) ||
         sm.is_behind || has_left_blocks;
}

void WorkerProgress::observe(const PolledTables& polled, Time now, std::vector<Event>& events, Report report) {
  now = std::max(now, earliest_);
  take_totals(polled);
  last_.assign(polled.sms.begin(), polled.sms.end());
  const std::size_t first = events.size();
  const std::int64_t started_before = started_;
  due_.clear();
  for (std::size_t sm = 0; sm < polled.sms.size(); ++sm) {
    if (!is_due(sm, polled.sms[sm], report)) continue;
    due_.push_back(static_cast<SmId>(sm));
    report_started(static_cast<SmId>(sm), polled.orders[sm], polled.sms[sm], now, events);
  }
  put_in_order(std::span(events).subspan(first), started_before);
  for (const SmId sm : due_) report_ended(sm, now, events);
  earliest_ = now;
}

void WorkerProgress::finish(Time now, std::vector<Event>& events) {
  GPUSHARE_EXPECT(done_ > 0, "a poll has shown some tasks done");
  std::vector<WorkerSm> table = last_;
  const double growth = static_cast<double>(blocks_) / static_cast<double>(done_);
  std::int64_t seen = 0;
  std::int64_t given = 0;
  for (WorkerSm& sm : table) {
    seen += sm.tasks_done;
    const std::int64_t tasks = std::llround(static_cast<double>(seen) * growth) - given;
    given += tasks;
    sm.busy_ns += static_cast<std::uint64_t>((block_time() * (tasks - sm.tasks_done)).count());
    sm.tasks_done = static_cast<std::uint32_t>(tasks);
    sm.workers = 0;
  }
  const std::vector<WorkerOrder> orders(table.size());
  const WorkerControl control{.next_task = static_cast<std::uint32_t>(blocks_),
                              .workers_gone = static_cast<std::uint32_t>(launched_)};
  observe({.control = control, .orders = orders, .sms = table}, now, events);
}

void WorkerProgress::end_rest(Time now, std::vector<Event>& events) {
  for (std::size_t sm = 0; sm < per_sm_.size(); ++sm) {
    const SmCounts& counted = per_sm_[sm];
    end(static_cast<SmId>(sm), counted.started - counted.ended, counted.block_time, now, events);
  }
}

std::int64_t WorkerProgress::part_of(std::size_t sm) const {
  const auto sms = static_cast<std::int64_t>(whole_on_.size());
  const auto before = static_cast<std::int64_t>(sm);
  return blocks_ * (before + 1) / sms - blocks_ * before / sms;
}

void WorkerProgress::start_whole(std::vector<SmId> sms, Time now, std::vector<Event>& events) {
  whole_on_ = std::move(sms);
  for (std::size_t sm = 0; sm < whole_on_.size(); ++sm) start(whole_on_[sm], part_of(sm), now, events);
}

void WorkerProgress::end_whole(Duration block_time, Time now, std::vector<Event>& events) {
  for (std::size_t sm = 0; sm < whole_on_.size(); ++sm) end(whole_on_[sm], part_of(sm), block_time, now, events);
  done_ = blocks_;
  unclaimed_ = 0;
}

}  // namespace gpushare
