// SPDX-License-Identifier: Apache-2.0
// A launch whose progress is told to a State, with every promise about single events checked on the way.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/engine/state.hpp"
#include "core/workers/worker_progress.hpp"
#include "sample_workloads.hpp"

namespace gpushare::test {

inline WorkerControl claimed(std::uint32_t tasks, std::uint32_t gone = 0) {
  return {.next_task = tasks, .workers_gone = gone};
}
struct OrderedSm {
  WorkerOrder order;
  WorkerSm counted;
};
inline OrderedSm sm_with(std::uint16_t quota, std::uint32_t workers, std::uint32_t done = 0,
                         std::uint64_t busy_ns = 0) {
  return {.order = {.quota = quota}, .counted = {.workers = workers, .tasks_done = done, .busy_ns = busy_ns}};
}
using Table = std::vector<OrderedSm>;

/// Tables as they are at one moment.
struct Snapshot {
  WorkerControl control;
  std::vector<WorkerOrder> orders;
  std::vector<WorkerSm> sms;

  PolledTables look() const { return {control, orders, sms}; }
};
inline Snapshot snapshot(const WorkerControl& control, const Table& table) {
  Snapshot snapshot{.control = control};
  for (const OrderedSm& sm : table) {
    snapshot.orders.push_back(sm.order);
    snapshot.sms.push_back(sm.counted);
  }
  return snapshot;
}

class ObservedLaunch {
 public:
  ObservedLaunch(std::int64_t blocks, int sms)
      : device_(std::make_unique<Device>(small_device(sms))),
        workload_(std::make_unique<Workload>(workload_of({launch_of(blocks, 100)}))),
        state_(*device_, *workload_),
        progress_({}, {}, blocks, sms) {
    state_.update({.kind = EventKind::ApplicationArrived});
    state_.update({.kind = EventKind::LaunchArrived});
  }

  WorkerProgress& progress() { return progress_; }
  const RunningLaunch& launch() const { return *state_.find(OperationId{}); }
  const SmProgress& on(int sm) const { return launch().per_sm[static_cast<std::size_t>(sm)]; }

  /// The events of one look.
  std::vector<Event> look(const WorkerControl& control, const Table& table, Time now) {
    return look(snapshot(control, table), now);
  }
  std::vector<Event> look(const Snapshot& seen, Time now,
                          WorkerProgress::Report report = WorkerProgress::Report::Everything) {
    std::vector<Event> events;
    progress_.observe(seen.look(), now, events, report);
    take(events, now);
    return events;
  }

  std::vector<Event> end_rest(Time now) {
    std::vector<Event> events;
    progress_.end_rest(now, events);
    take(events, now);
    return events;
  }

  std::vector<Event> whole(Time started, Time ended) {
    std::vector<Event> events;
    std::vector<SmId> sms;
    for (std::size_t sm = 0; sm < launch().per_sm.size(); ++sm) sms.push_back(static_cast<SmId>(sm));
    progress_.start_whole(std::move(sms), started, events);
    progress_.end_whole(ended - started, ended, events);
    take(events, ended);
    return events;
  }

 private:
  void take(const std::vector<Event>& events, Time now) {
    for (const Event& event : events) {
      EXPECT_GE(event.time, last_) << "time goes back";
      EXPECT_LE(event.time, now) << "from the future";
      EXPECT_LE(event.started, event.time);
      EXPECT_GT(event.blocks, 0);
      last_ = std::max(last_, event.time);
      const bool starts = event.kind == EventKind::BlockStarted;
      EXPECT_EQ(event.block, starts ? launch().started : launch().done);
      state_.update(event);
      EXPECT_GE(launch().per_sm[index(event.sm)].resident, 0);
      EXPECT_LE(launch().started, launch().blocks());
    }
    last_ = std::max(last_, now);  // what a later look reports has not happened before this one
  }

  std::unique_ptr<const Device> device_;
  std::unique_ptr<const Workload> workload_;
  State state_;
  WorkerProgress progress_;
  Time last_{};
};

}  // namespace gpushare::test
