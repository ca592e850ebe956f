// SPDX-License-Identifier: Apache-2.0
// A run whose work comes in while it goes on: what a session does. Nothing is known of the future, so oracle policies
// see what has arrived and no more.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/dispatcher.hpp"

namespace gpushare {

/// What has come in: states point into it. Nothing in it moves.
struct OpenWork {
  std::deque<Application> applications;  ///< without their operations
  std::deque<Operation> operations;      ///< by OperationId
};

class OpenRun {
 public:
  OpenRun(Gpu& gpu, Policy& policy, std::shared_ptr<OpenWork> work, std::span<RunObserver* const> observers)
      : gpu_(gpu), dispatcher_(gpu, policy, State(gpu.device()), observers), work_(std::move(work)) {}

  /// The application arrives at `now`. Its `operations` must be empty.
  ApplicationId add(Application application, Time now);
  /// The operation starts when those before it in the application have ended. Throws InvalidInput for a launch whose
  /// blocks the device cannot run.
  OperationId submit(ApplicationId application, Operation operation, Time now);

  /// Passes on events until the device has none: it waits for something, or has been woken.
  void advance();
  /// Time has come this far: wakes the policy if it asked for that.
  void reach(Time now);

  /// Has everything ended that has been submitted?
  bool is_idle() const { return unfinished_ == 0; }
  /// When the policy wants to be asked again.
  std::optional<Time> wake_at() const { return dispatcher_.wake_at(); }
  /// Who waits although nothing can happen under the present plan.
  std::string waiting() const;

  /// What has been done, as a workload: operations are numbered application by application, in the trace too, and an
  /// application ends with its last operation. Requires is_idle().
  Workload close(Trace& trace) const;

 private:
  struct Stream {
    std::deque<OperationId> waiting;
    bool busy = false;
  };

  void start_next(ApplicationId application);
  Submission submission_of(OperationId id) const;

  Gpu& gpu_;
  Dispatcher dispatcher_;
  std::shared_ptr<OpenWork> work_;
  std::vector<ApplicationId> owners_;  // by OperationId
  std::vector<Stream> streams_;
  std::int64_t unfinished_ = 0;
};

}  // namespace gpushare
