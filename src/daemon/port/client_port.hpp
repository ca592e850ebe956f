// SPDX-License-Identifier: Apache-2.0
// The client's side of its port: any thread submits and waits; the port has no thread. One of the waiting threads at a
// time reads the ring for all, and sleeps at its word; a thread that finds the ring full waits with them. So a thread
// that waits for a job is woken by the worker directly. The doorbell rings only while no thread waits, for a thread
// that collects ended jobs then.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/session/spin.hpp"
#include "daemon/channel/doorbell.hpp"
#include "daemon/channel/fork_guard.hpp"
#include "daemon/channel/handle_table.hpp"
#include "daemon/channel/port_memory.hpp"
#include "daemon/channel/wire.hpp"
#include "daemon/port/completion_reader.hpp"
#include "daemon/port/port_jobs.hpp"

namespace gpushare::daemon {

struct LaunchRequest {
  Handle application = 0;
  Handle kernel = 0;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::span<const std::byte> arguments{};
  std::span<const wire::ArrayReference> arrays{};
  void* owner = nullptr;  ///< returned with the job's end
};

struct CopyRequest {
  Handle application = 0;
  Handle array = 0;
  std::uint64_t array_offset = 0;
  Handle arena = 0;
  std::uint64_t arena_offset = 0;
  std::uint64_t bytes = 0;
};

/// What waiting for a job has come to.
struct Awaited {
  enum class Job { Ended, Unfinished, Unknown };
  Job job{};                    ///< Unknown: another caller has been given its end
  std::vector<EndedJob> ended;  ///< this job, if it has ended, and ended jobs without waiting threads; forgotten
};

/// Submitting and waiting throw PeerGone once the worker has ended; everything but abandon(), forget() and close()
/// throws it in a forked child of the process that opened the port; and PeerViolation if the worker breaks the
/// protocol.
class ClientPort {
 public:
  /// Opens the client's part of ServerPort::open. Throws InvalidInput for memory that is no port.
  ClientPort(FileDescriptor memory, FileDescriptor doorbell, Duration most_spin = Duration(150'000));
  ~ClientPort();

  /// Commands return the job's number at once, if the worker keeps up; else they wait for room, but not for ever:
  /// PeerBusy after `patience`.
  JobNumber launch(const LaunchRequest& request, Duration patience = default_patience);
  JobNumber copy_in(const CopyRequest& request, Duration patience = default_patience);
  JobNumber copy_out(const CopyRequest& request, Duration patience = default_patience);
  /// A job that ends when all earlier jobs have.
  JobNumber fence(Duration patience = default_patience);

  /// How the job has ended; nullopt: not yet. The same every time, until the job is forgotten.
  std::optional<JobResult> wait(JobNumber job, Duration timeout);
  /// Waits for the job, which take_all_ended() then leaves out. The caller has to report all ends in the result.
  Awaited await(JobNumber job, Duration timeout);
  /// Appends all ended jobs that have no waiting thread and were not reported before; they are forgotten. To be called
  /// by one thread, again a little later if the result was true: while jobs end in quick succession the bell is not
  /// rung for each. False: the bell will ring at the next end without a waiting thread.
  bool take_all_ended(std::vector<EndedJob>& told);
  /// Returns ended jobs, which the caller of take_all_ended() then has to report.
  void leave(std::vector<EndedJob> ended);
  /// To be called when the bell rings; false once the worker is gone.
  bool hear();
  int bell() const { return doorbell_.descriptor(); }
  /// Ends the connection for good. Unreported ended jobs come first in the result; then all jobs that have not ended,
  /// with `is_lost`.
  std::vector<EndedJob> abandon();
  /// The job's end is not needed any more. Jobs that are not forgotten stay in memory.
  void forget(JobNumber job);
  /// The number of jobs in memory.
  std::size_t kept_jobs() const;
  /// The number of the job that was submitted last; 0: none was.
  JobNumber last_job() const { return last_job_.load(std::memory_order_relaxed); }

  /// Threads that wait, or begin to, get PeerGone.
  void close();

  /// Limit of jobs in memory. More are refused (InvalidInput).
  static constexpr std::size_t most_jobs = 1 << 16;
  static constexpr Duration default_patience = std::chrono::seconds(60);

 private:
  class Leading;
  using Clock = std::chrono::steady_clock;
  using Deadline = Clock::time_point;

  JobNumber copy(wire::CommandKind kind, const CopyRequest& request, Duration patience);
  template <typename Command>
  JobNumber send(Command& command, Part second, Part third, Duration patience, void* owner = nullptr);
  template <typename Ready>
  bool wait_until(std::unique_lock<std::mutex>& lock, Deadline deadline, Ready ready);
  template <typename Ready>
  bool lead(std::unique_lock<std::mutex>& lock, Deadline deadline, Ready ready);
  /// Releases the lock until the worker has written something, or the deadline.
  void sleep(Deadline deadline);
  // With the lock:
  void announce_rest();
  void collect();
  void set_gone();
  void require_own_process() const;

  PortMemory memory_;
  Doorbell doorbell_;
  ForkGuard fork_guard_;

  mutable std::mutex mutex_;
  // Not destroyed in a forked child: that would wait for threads of the parent.
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  RingWriter commands_;
  CompletionReader completions_;
  SpinBudget spin_;  // of the leading thread
  bool is_led_ = false;
  bool is_gone_ = false;
  int waiting_senders_ = 0;  // for room in the ring
  std::atomic<JobNumber> last_job_ = 0;
  PortJobs jobs_;
  bool has_ended_unled_ = false;  // something, since take_all_ended() was called
  bool rests_ = false;            // its caller waits for the bell
};

}  // namespace gpushare::daemon
