// SPDX-License-Identifier: Apache-2.0
// Converts the counters of one launch's workers to events. A poll shows only how far each SM's counters have advanced,
// so blocks are reported in groups, and which of them run has to be inferred:
//
// - A worker that is present counts as one running block if the quota has a place for it and there are blocks left to
//   claim, or some that were claimed and have not been reported as started, or if it may be one that ran at the last
//   poll: a worker finishes what it has claimed.
// - So a worker that came and found no task may have been reported as a block. Such a block ends as soon as it is clear
//   that it does not run: when every worker that has not gone holds a place, an SM runs no more blocks than it has
//   workers. In exchange, one of the blocks that end next, on any SM, goes unreported.
// - In the events of one poll, the starts come first, by time, and then the ends, all at the time of the poll. A start
//   on an SM is dated back by the time that the SM's finished work takes with all places in use (nothing finished: one
//   mean block time), but not to before the last poll, nor before workers came to a GPU that had none.
//
// No block ends before it has started, no more than the grid has ever start, and in the end all have ended.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/engine/event.hpp"
#include "core/transform/worker/worker_control.hpp"

namespace gpushare {

class WorkerProgress {
 public:
  WorkerProgress(ApplicationId application, OperationId launch, std::int64_t blocks, int sms);

  /// So many workers have been handed to the hardware. Without this call there are no corrections (see above).
  void launched(std::int64_t workers, Time now);

  enum class Report {
    Everything,
    /// Only SMs where workers came or went, and first blocks: changes that other launches may wait for.
    Changes
  };

  /// Takes the present counters and appends what has happened since the last time. Changes that are left out come
  /// later.
  void observe(const PolledTables& polled, Time now, std::vector<Event>& events, Report report = Report::Everything);

  /// All workers are gone, and none was told to leave: so every task has been done. Where the last tasks were done only
  /// a poll would show; they are assumed to be spread like those before. Requires that a poll has shown some done.
  void finish(Time now, std::vector<Event>& events);

  /// For a launch in its original form: all blocks start, and later end, at once, spread evenly over these SMs.
  void start_whole(std::vector<SmId> sms, Time now, std::vector<Event>& events);
  /// Requires start_whole().
  void end_whole(Duration block_time, Time now, std::vector<Event>& events);

  /// The launch has ended, and its workers are gone: no block that was reported runs any more.
  void end_rest(Time now, std::vector<Event>& events);

  std::int64_t done() const { return done_; }
  bool finished() const { return done_ == blocks_; }
  /// Workers present at the last poll.
  int workers() const { return workers_; }
  /// These, by SM.
  std::span<const int> workers_by_sm() const { return workers_by_sm_; }
  /// Workers that have left, of all that were ever launched.
  std::int64_t workers_gone() const { return workers_gone_; }
  std::int64_t unclaimed() const { return unclaimed_; }
  /// By SM, as of the last poll.
  std::span<const WorkerSm> tables() const { return last_; }
  /// Mean duration of a block so far; zero before the first has ended.
  Duration block_time() const { return block_time_; }

 private:
  struct SmCounts {
    std::int64_t started = 0;  // as reported
    std::int64_t ended = 0;    // as reported: never beyond started
    std::int64_t done = 0;     // as counted by the workers
    std::int64_t shift = 0;    // blocks reported here that did not run, less unreported ones that ran
    std::int64_t running = 0;  // at the last poll, as far as known
    bool is_behind = false;    // more blocks run than could be reported: their claims were not yet seen
    Duration busy{};           // of the blocks done
    Duration block_time{};
  };

  /// Has this SM anything new to report?
  bool is_due(std::size_t sm, const WorkerSm& counted, Report report) const;
  /// One SM's part of a launch that is spread evenly over SMs.
  std::int64_t part_of(std::size_t sm) const;
  void take_totals(const PolledTables& polled);
  void report_started(SmId id, WorkerOrder order, const WorkerSm& counted, Time now, std::vector<Event>& events);
  void report_ended(SmId id, Time now, std::vector<Event>& events);
  void end_idle_workers(SmId id);
  /// So many blocks from `first` on, as one event that lacks its times.
  Event group(EventKind kind, SmId sm, std::int64_t first, std::int64_t blocks) const;
  void put_in_order(std::span<Event> starts, std::int64_t started_before);
  void start(SmId id, std::int64_t blocks, Time time, std::vector<Event>& events);
  void end(SmId id, std::int64_t blocks, Duration block_time, Time time, std::vector<Event>& events);

  Event event_;  // the fields that all its events share
  std::int64_t blocks_;
  std::vector<SmCounts> per_sm_;
  std::vector<int> workers_by_sm_;                   // read much more often than all the rest
  std::vector<SmId> due_;                            // of the present poll
  std::vector<std::pair<Time, std::size_t>> order_;  // of the present poll's starts
  std::vector<Event> unordered_;                     // these, SM by SM
  std::vector<SmId> whole_on_;
  std::vector<WorkerSm> last_;  // as of the last poll
  std::int64_t started_ = 0;
  std::int64_t ended_ = 0;
  std::int64_t done_ = 0;
  std::int64_t unclaimed_;
  std::int64_t owed_ = 0;  // blocks reported that did not run, not yet balanced by unreported ones
  std::int64_t launched_ = 0;
  std::int64_t workers_gone_ = 0;
  int workers_ = 0;
  Duration block_time_{};
  Time earliest_{};  // of the next event
};

}  // namespace gpushare
