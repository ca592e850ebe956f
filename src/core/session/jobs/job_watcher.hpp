// SPDX-License-Identifier: Apache-2.0
// Reports the end of a job to the listener, and then to the threads that wait for it.
#pragma once

#include "core/session/session.hpp"

namespace gpushare {

class JobWatcher : public RunObserver {
 public:
  JobWatcher(JobEnds& ends, SessionListener* listener) : ends_(ends), listener_(listener) {}

  void watch(const OpenRun& run, const LiveGpu& gpu) {
    run_ = &run;
    gpu_ = &gpu;
  }

  /// Jobs become operations in the order of their numbers: the next one has become this one.
  void expect(OperationId operation) {
    if (jobs_.size() <= index(operation)) jobs_.resize(index(operation) + 1);
    jobs_[index(operation)] = {.id = next_++};
  }

  JobId job_of(OperationId operation) const { return jobs_[index(operation)].id; }
  /// As far as the device has reported. An operation that the device failed to accept has not.
  bool has_begun(OperationId operation) const {
    return index(operation) < jobs_.size() && jobs_[index(operation)].began.has_value();
  }

  void saw(const Event& event) override {
    if (event.kind == EventKind::ApplicationEnded) return cancel_waiting(event);
    if (event.kind == EventKind::BlockStarted || event.kind == EventKind::CopyStarted) return begin(event);
    if (event.kind != EventKind::LaunchEnded && event.kind != EventKind::CopyEnded) return;
    if (run_->is_withdrawn(event.application)) return cancel(event.operation, event.time);
    const WatchedJob job = jobs_[index(event.operation)];
    tell({.job = job.id, .application = event.application, .began = job.began, .end = event.time, .now = gpu_->now()});
    ends_.end(job.id);
  }

  void cancel(OperationId operation, Time now) {
    const std::string& owner = run_->state().application(run_->owner(operation)).name;
    cancel(operation, now, "application '" + owner + "' has been cancelled");
  }

  void cancel(OperationId operation, Time now, const std::string& reason) {
    const WatchedJob job = jobs_[index(operation)];
    const ApplicationId owner = run_->owner(operation);
    tell({.job = job.id,
          .application = owner,
          .is_cancelled = true,
          .began = job.began,
          .end = now,
          .now = gpu_->now()});
    ends_.cancel(job.id, reason);
  }

 private:
  struct WatchedJob {
    JobId id = 0;
    std::optional<Time> began{};
  };

  void begin(const Event& event) {
    std::optional<Time>& began = jobs_[index(event.operation)].began;
    if (!began) began = event.time;
  }

  /// An application ends by itself only when it is withdrawn.
  void cancel_waiting(const Event& ended) {
    for (const OperationId each : run_->streams().at(ended.application).waiting) cancel(each, ended.time);
  }

  void tell(const JobEnd& end) const {
    if (listener_ != nullptr) listener_->job_ended(end);
  }

  JobEnds& ends_;
  SessionListener* listener_;
  const OpenRun* run_ = nullptr;
  const LiveGpu* gpu_ = nullptr;
  std::vector<WatchedJob> jobs_;  // by OperationId
  JobId next_ = 0;
};

}  // namespace gpushare
