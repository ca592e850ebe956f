// SPDX-License-Identifier: Apache-2.0
// What the workers of one launch have done, as events. A GPU tells only how far each SM's counters have come since the
// last look, so blocks are reported in groups. Which block started when is not known in full: a worker that is present
// counts as one running block while there are blocks left to claim.
#pragma once

#include <span>
#include <vector>

#include "core/event.hpp"
#include "core/transform/worker_control.hpp"

namespace gpushare {

class WorkerProgress {
 public:
  WorkerProgress(ApplicationId application, OperationId launch, std::int64_t blocks, int sms);

  /// Takes the counters as they are now and appends what has happened since the last time.
  void observe(const WorkerControl& control, std::span<const WorkerSm> table, Time now, std::vector<Event>& events);

  /// A launch that ran outside the workers' control has ended: all blocks at once, spread evenly over the SMs.
  void observe_whole(Time started, Time ended, std::vector<Event>& events);

  std::int64_t done() const { return done_; }
  bool finished() const { return done_ == blocks_; }
  /// Workers present at the last look.
  int workers() const { return workers_; }
  int workers_on(SmId sm) const { return per_sm_[index(sm)].workers; }
  /// Workers that have left, of all that were ever launched.
  std::int64_t workers_gone() const { return workers_gone_; }
  std::int64_t unclaimed() const { return unclaimed_; }
  /// Mean duration of a block so far; zero before the first has ended.
  Duration block_time() const { return done_ > 0 ? busy_ / done_ : Duration{}; }

 private:
  struct OnSm {
    std::int64_t started = 0;
    std::int64_t ended = 0;  // as reported: never beyond started
    std::uint32_t done = 0;  // as counted by the workers
    int workers = 0;
    Duration busy{};
  };

  void report_started(OnSm& sm, SmId id, std::int64_t blocks, Time now, std::vector<Event>& events);
  void report_ended(OnSm& sm, SmId id, std::int64_t blocks, Duration block_time, Time now, std::vector<Event>& events);

  Event event_;  // the fields that all its events share
  std::int64_t blocks_;
  std::vector<OnSm> per_sm_;
  std::int64_t started_ = 0;
  std::int64_t ended_ = 0;
  std::int64_t done_ = 0;
  std::int64_t unclaimed_;
  std::int64_t workers_gone_ = 0;
  int workers_ = 0;
  Duration busy_{};
};

}  // namespace gpushare
