// SPDX-License-Identifier: Apache-2.0
// An open run on a device in wall-clock time, in a thread of its own: work comes in from any thread and is scheduled at
// once. Threads that submit and the scheduler share nothing but a list of requests.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "core/session/jobs/job_ends.hpp"
#include "core/session/live_gpu.hpp"
#include "core/session/present_applications.hpp"
#include "core/session/request_queue.hpp"
#include "core/session/session_history.hpp"
#include "core/session/session_lifecycle.hpp"
#include "core/session/session_status.hpp"
#include "core/session/session_thread.hpp"

namespace gpushare {

/// What a session leaves behind.
struct SessionRecord {
  Workload workload;
  std::vector<Duration> turnarounds;  ///< by application: time_in_system.hpp
  Trace trace;
};

/// A job has ended, or, if it was cancelled, will never do so.
struct JobEnd {
  JobId job = 0;
  ApplicationId application{};
  bool is_cancelled = false;
  std::optional<Time> began{};  ///< its first block, or the copy, in the time of the run; none: it never did
  Time end{};                   ///< in the time of the run
  Time now{};                   ///< of this report
};

/// Told of what happens in a session, in its thread, which waits meanwhile: be short, and do not call the session.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual void job_ended(const JobEnd& end) = 0;
  /// The session will do nothing more: all jobs that have not ended fail.
  virtual void session_failed(const SessionFailure& /*failure*/) {}
};

struct SessionOptions {
  SessionListener* listener = nullptr;  ///< outlives the session
  /// Decides which application's operation goes next; none: each goes when it is ready. Used in the session's thread.
  std::shared_ptr<Ordering> ordering{};
  /// For finish(), of all that happens. Without it nothing is left of jobs and applications that have ended, so a
  /// session can go on for ever; wait() knows the last 65536 jobs that were cancelled, and history() tells of what was
  /// lately.
  bool keeps_record = true;
  std::string policy_name{};           ///< if not empty, errors of the policy name it
  std::size_t most_history = 200'000;  ///< operations, quotas and steps that history() knows, some 100 bytes each
};

struct SubmittedOperation {
  Operation operation;
  std::shared_ptr<const DeviceCode> code{};
};

class Session {
 public:
  /// Makes a policy. What is handed over owns all that the states of the session point into.
  using MakePolicy = std::function<std::unique_ptr<Policy>(std::shared_ptr<const void> world)>;

  /// Policies are made, used and destroyed in the session's thread. Throws InvalidInput while another run is on the
  /// device.
  Session(LiveDevice device, MakePolicy make_policy, SessionOptions options = {});
  ~Session() { close(); }

  /// Numbers of applications never come again.
  ApplicationId add(Application application);
  /// The same for an application with a known first operation. Throws InvalidInput where this cannot run, or misses the
  /// deadline or the latency bound even alone (reachable_terms.hpp): then the application has not come.
  ApplicationId add(Application application, const Operation& first);
  /// Returns a number for wait(): jobs are counted from 0. `code` says what the operation is on the device, where that
  /// has to be said. Throws InvalidInput for a launch that cannot run, Cancelled for an application that was withdrawn,
  /// and what the session has failed with.
  /// A job that is held begins after release(), and those behind it in its application after it.
  JobId submit(ApplicationId application, Operation operation, std::shared_ptr<const DeviceCode> code = nullptr,
               bool is_held = false);
  /// All of them before the session's thread sees any: an ordering then knows them as one task.
  void submit(ApplicationId application, std::vector<SubmittedOperation> operations);
  /// What the job waited for has happened, or has failed: with a reason the job is cancelled instead. Nothing happens
  /// where it is not held, or the session is over.
  void release(JobId job, std::string failure = {});

  /// The application goes; this returns at once. Its waiting jobs are cancelled, and the one that runs once it has
  /// stopped at a block boundary, even if no block of it was left. Nothing happens where it has gone already.
  void withdraw(ApplicationId application);

  /// A block of the application does not end, for which `why` is the evidence: the session fails with that. Nothing
  /// happens where the application has nothing under way.
  void fail_for(ApplicationId application, std::string why);

  /// The number of the session's thread; 0: it has ended.
  pthread_t thread_number() const { return thread_.number(); }
  /// Throws InvalidInput in the session's thread, where policies run: it would wait for itself. All that follows does
  /// so, but for failure().
  void require_other_thread() const;

  /// Throws PolicyError where the policy has no use for this priority.
  void set_priority(ApplicationId application, int priority);
  /// Another policy decides from now on. If it cannot be made, or does not get along with what is going on, this
  /// throws, and the old one goes on. If it has a name, its errors give that.
  void set_policy(MakePolicy make_policy, std::string name = {});
  SessionStatus status();
  bool keeps_record() const { return options_.keeps_record; }
  /// The last so much time, of a session that keeps no record. Throws InvalidInput for one that does.
  SessionPast history(Duration last);

  /// What it has failed with; nullptr: it has not.
  std::exception_ptr failure() const;

  /// Has the job ended within this time? Throws Cancelled where it was, and what the session has failed with, unless
  /// the job had ended by then.
  bool wait(JobId job, Duration timeout);

  /// await_watched() returns this job once it is over.
  void watch(JobId job);
  /// Waits until watched jobs are over, or the session is, and returns those jobs. Each comes once, and none when the
  /// session is over and all have come. wait() says how a job ended.
  std::vector<JobId> await_watched();

  // For any thread, that of another session too.
  /// Has all that has been submitted ended, but for jobs whose ends are expected?
  bool is_idle() const;
  /// The job has nothing to do any more.
  void expect_end(JobId job);

  /// Has all that has been submitted ended within this time, or the session failed?
  bool wait_for_all(Duration timeout);
  /// Waits for all that has been submitted, at most so long. Throws what the session has failed with, and the device's
  /// error where something did not end in time.
  SessionRecord finish(Duration timeout);

  /// Ends everything at the next block boundary; jobs that have not ended fail.
  void close();

 private:
  class Service;
  struct SubmittedJob {
    ApplicationId application;
    Operation operation;
    std::shared_ptr<const DeviceCode> code;
    bool is_held;
  };
  struct Release {
    JobId job;
    std::string failure;
  };
  struct Withdrawal {
    ApplicationId application;
  };
  struct EndlessBlock {
    ApplicationId application;
    std::string why;
  };
  using Task = std::function<void(Service&)>;
  /// A thread waits until it has been done.
  struct Call {
    Task task;
    bool is_done = false;
    std::exception_ptr failure;
  };
  using Request = std::variant<Application, SubmittedJob, Release, Withdrawal, EndlessBlock, Call*>;

  /// Has the session's thread do it, and waits for that. Throws what it throws.
  void call(Task task);

  // For the session's thread.
  void set_gpu(LiveGpu* gpu);
  void fail(SessionFailure failure);
  void end_thread();

  void require_known(JobId job);
  /// Waits until all jobs are over or the session has failed; false: that took too long.
  bool await_all(Duration timeout, std::unique_lock<std::mutex>& lock);
  void end(std::string reason);

  LiveDevice device_;
  MakePolicy make_policy_;
  SessionOptions options_;

  mutable std::mutex mutex_;         // of what follows, up to the record
  std::condition_variable changed_;  // for all threads but the session's
  RequestQueue<Request> requests_;
  PresentApplications applications_;
  JobEnds jobs_;
  SessionLifecycle lifecycle_;
  SessionRecord record_;  // the session's thread's, until it has ended
  SessionHistory history_;
  SessionThread thread_;
};

}  // namespace gpushare
