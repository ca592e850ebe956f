// SPDX-License-Identifier: Apache-2.0
// A run to which work is added while it goes on, as in a session. Nothing is known of the future, so oracle policies
// see what has arrived and no more. Applications may be withdrawn, priorities changed and policies replaced meanwhile.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/dispatcher.hpp"
#include "core/engine/ordered_dispatch.hpp"
#include "core/model/time_in_system.hpp"
#include "core/session/open_run/application_tally.hpp"

namespace gpushare {

/// What has come in: states point into it. Nothing in it moves.
struct OpenWork {
  std::deque<Operation> operations;                     ///< by OperationId
  std::deque<std::shared_ptr<const DeviceCode>> codes;  ///< by OperationId
};

/// An operation that waits for something outside of the run, or follows one that does.
struct UnissuedOperation {
  OperationId id{};
  bool is_held = false;
};

/// An application of an open run: its stream of operations, one under way at a time.
struct OpenStream {
  std::deque<UnissuedOperation> unissued;  ///< behind `waiting`; the first one is held
  std::deque<OperationId> waiting;         ///< the first for the ordering, if nothing is on the device
  std::optional<OperationId> current;      ///< on the device
  std::size_t submitted = 0;               ///< so far
  TimeInSystem<Time, Duration> time{};
  bool is_withdrawn = false;
  bool has_ended = false;
};

/// What an open run has done.
struct ClosedRun {
  Workload workload;
  std::vector<Duration> turnarounds;  ///< by application: time_in_system.hpp
};

/// What becomes of operations and applications that have ended.
enum class EndedWork {
  IsKept,      ///< for close()
  IsForgotten  ///< ids of operations come again, those of applications never do: a run can go on for ever
};

/// Throws InvalidInput for a launch without blocks or with blocks that the device cannot run, and for an empty copy.
void require_runnable(const Operation& operation, const Device& device);

class OpenRun : private OperationSource {
 public:
  /// With an ordering operations go when it lets them.
  OpenRun(Gpu& gpu, Policy& policy, std::shared_ptr<OpenWork> work, std::span<RunObserver* const> observers,
          EndedWork ended_work = EndedWork::IsKept, Ordering* ordering = nullptr);
  OpenRun(const OpenRun&) = delete;
  OpenRun& operator=(const OpenRun&) = delete;

  /// The application arrives at `now`. Its `operations` must be empty. Throws PolicyError where the policy has no use
  /// for its priority.
  ApplicationId add(Application application, Time now);
  /// The operation starts when those before it in the application have ended. Throws InvalidInput where it
  /// cannot run.
  /// Where it is held, it and those behind it are not known to orderings and policies before it is released.
  OperationId submit(ApplicationId application, Operation operation, Time now,
                     std::shared_ptr<const DeviceCode> code = nullptr, bool is_held = false);
  /// A held operation of an application that was not withdrawn is held no longer.
  void release(OperationId held, Time now);
  /// It will never be done; those behind it are not held by it.
  void abandon(OperationId held, Time now);

  /// The application goes: what has not begun is dropped and returned, and what it has on the device stops at the next
  /// block boundary. With that it has ended, to policies like any other. What the device had started ahead of time is
  /// dropped then: while observers are told of the end, it is in the stream.
  std::vector<OperationId> withdraw(ApplicationId application, Time now);
  /// So is one that has been forgotten.
  bool is_withdrawn(ApplicationId application) const;

  /// Forgets applications that have ended, if ended work is to be forgotten, and returns which. To be called now and
  /// then, when all that wanted to know of their ends has been told.
  std::vector<ApplicationId> forget_ended();

  /// Throws PolicyError where the policy has no use for this priority. Nothing happens where the application has ended.
  void set_priority(ApplicationId application, int priority, Time now);

  /// Another policy decides from now on. If it throws, all stays as it was.
  void hand_over(Policy& policy, Time now);

  /// Passes on events until the device has none: it waits for something, or has been woken.
  void advance();
  /// Time has come this far: wakes the policy if it asked for that.
  void reach(Time now);

  /// Has everything ended that has been submitted?
  bool is_idle() const { return unfinished_ == 0; }
  /// Is all that has not ended unissued?
  bool is_at_rest() const { return unfinished_ == unissued_; }
  /// When the policy wants to be asked again.
  std::optional<Time> wake_at() const { return dispatcher_.wake_at(); }
  /// Names the applications that wait although nothing can happen under the present plan.
  std::string waiting() const;

  const State& state() const { return dispatcher_.state(); }
  const Plan& plan() const { return dispatcher_.plan(); }
  const Operation& operation(OperationId id) const { return work_->operations[index(id)]; }
  ApplicationId owner(OperationId operation) const { return owners_[index(operation)]; }
  /// Without applications that have been forgotten.
  const std::map<ApplicationId, OpenStream>& streams() const { return streams_; }
  const Tally& tally(ApplicationId application) const { return tallies_.of(application); }

  /// What has been done, as a workload: operations are numbered application by application, in the trace too, and an
  /// application ends with its last operation. What was dropped is not part of it, nor is an application of
  /// which nothing began. Requires is_idle(), and that ended work was kept.
  ClosedRun close(Trace& trace) const;

 private:
  OperationId take_id();
  void issue(ApplicationId application, OperationId operation);
  void issue_released(ApplicationId application);
  void drop_unissued(OperationId operation);
  void forget(OperationId operation);
  void drop(ApplicationId application, std::span<const OperationId> operations);
  void start_next(ApplicationId application);
  std::optional<Submission> following(ApplicationId application) override;
  void going(const Submission& operation) override;
  Submission submission_of(OperationId id) const;
  void end_withdrawn(ApplicationId application);

  Gpu& gpu_;
  Policy* policy_;
  std::vector<RunObserver*> observers_;
  Dispatcher dispatcher_;
  OrderedDispatch ordered_;
  ApplicationTallies tallies_;
  std::shared_ptr<OpenWork> work_;
  std::vector<ApplicationId> owners_;      // by OperationId
  std::vector<std::uint64_t> identities_;  // by OperationId
  std::map<ApplicationId, OpenStream> streams_;
  std::vector<ApplicationId> ended_;   // and not forgotten yet
  std::deque<OperationId> forgotten_;  // to be used again, first those that ended first
  EndedWork ended_work_;
  std::int64_t unfinished_ = 0;
  std::int64_t unissued_ = 0;
};

}  // namespace gpushare
