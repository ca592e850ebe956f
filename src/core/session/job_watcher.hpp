// SPDX-License-Identifier: Apache-2.0
// Reports the end of a job to the listener, and then to the threads that wait for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "core/session/session.hpp"

namespace gpushare {

class JobWatcher : public RunObserver {
 public:
  /// The board is shared with others, under this mutex; `ends` is counted up for threads that spin without it.
  JobWatcher(std::mutex& mutex, std::condition_variable& changed, std::atomic<std::uint64_t>& ends, JobBoard& board,
             SessionListener* listener)
      : mutex_(mutex), changed_(changed), ends_(ends), board_(board), listener_(listener) {}

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
    tell_waiting(job.id, [&] { board_.end(job.id); });
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
    tell_waiting(job.id, [&] { board_.cancel(job.id, reason); });
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

  /// Threads that wait for something else sleep on: to wake them would cost this thread a system call per launch.
  template <typename Note>
  void tell_waiting(JobId job, Note note) {
    {
      const std::scoped_lock lock(mutex_);
      note();
      if (board_.is_awaited(job)) changed_.notify_all();
    }
    ends_.fetch_add(1, std::memory_order_release);  // a thread that spins takes the mutex next
  }

  void tell(const JobEnd& end) const {
    if (listener_ != nullptr) listener_->job_ended(end);
  }

  std::mutex& mutex_;
  std::condition_variable& changed_;
  std::atomic<std::uint64_t>& ends_;
  JobBoard& board_;
  SessionListener* listener_;
  const OpenRun* run_ = nullptr;
  const LiveGpu* gpu_ = nullptr;
  std::vector<WatchedJob> jobs_;  // by OperationId
  JobId next_ = 0;
};

}  // namespace gpushare
