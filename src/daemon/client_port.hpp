// SPDX-License-Identifier: Apache-2.0
// The client's side of its port: any thread submits and waits, without a thread of its own. Of those who wait, one at a
// time watches the doorbell for all; whoever finds the ring full waits with them.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/spin.hpp"
#include "daemon/doorbell.hpp"
#include "daemon/fork_guard.hpp"
#include "daemon/handle_table.hpp"
#include "daemon/job_reply.hpp"
#include "daemon/port_memory.hpp"
#include "daemon/wire.hpp"

namespace gpushare::daemon {

using JobNumber = std::uint64_t;  ///< 1, 2, 3, ... of a port

struct LaunchRequest {
  Handle application = 0;
  Handle kernel = 0;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::span<const std::byte> arguments{};
  std::span<const wire::ArrayReference> arrays{};
  void* owner = nullptr;  ///< comes back with the job's end
};

struct CopyRequest {
  Handle application = 0;
  Handle array = 0;
  std::uint64_t array_offset = 0;
  Handle arena = 0;
  std::uint64_t arena_offset = 0;
  std::uint64_t bytes = 0;
};

/// How a job has ended. Times are those of CLOCK_MONOTONIC, in nanoseconds; 0: never started.
struct Completion {
  JobStatus status{};
  bool is_lost = false;  ///< it had not ended when the connection did
  std::int64_t accepted = 0;
  std::int64_t started = 0;
  std::int64_t ended = 0;
  std::string message;
};

/// A job that has ended, or that nobody will hear of any more.
struct EndedJob {
  JobNumber job = 0;
  Completion completion;
  void* owner = nullptr;  ///< as it was submitted
};

/// Every function throws PeerGone once the worker has ended or this process is a forked child of the one that opened
/// the port, and PeerViolation if the worker breaks the protocol.
class ClientPort {
 public:
  /// What ServerPort::open gave for the client. Throws InvalidInput for memory that is no port.
  ClientPort(FileDescriptor memory, FileDescriptor doorbell, Duration most_spin = Duration(20'000));

  /// Commands return the job's number at once, if the worker keeps up; else they wait for room, but not for ever:
  /// PeerBusy after `patience`.
  JobNumber launch(const LaunchRequest& request, Duration patience = default_patience);
  JobNumber copy_in(const CopyRequest& request, Duration patience = default_patience);
  JobNumber copy_out(const CopyRequest& request, Duration patience = default_patience);
  /// A job that ends when all before it have.
  JobNumber fence(Duration patience = default_patience);

  /// How the job has ended; nullopt: not yet. Says the same every time, until the job is forgotten.
  std::optional<Completion> wait(JobNumber job, Duration timeout);
  /// All jobs whose ends have not been told here yet, as soon as there are any; they are forgotten. For one thread that
  /// tells others. Empty: none in time.
  std::vector<EndedJob> wait_ended(Duration timeout);
  /// Ends the connection for good. What ended before, and was not told, comes first; then all jobs that have not ended,
  /// with `is_lost`. No other thread may be waiting.
  std::vector<EndedJob> abandon();
  /// Nobody will ask for this job any more. Jobs that nobody forgets are kept.
  void forget(JobNumber job);
  /// How many jobs are kept.
  std::size_t kept_jobs() const;
  /// The number of the job that was submitted last; 0: none was.
  JobNumber last_job() const { return last_job_.load(std::memory_order_relaxed); }

  /// Everything that waits, or begins to, gets PeerGone.
  void close();

  /// That are kept. More are refused (InvalidInput).
  static constexpr std::size_t most_jobs = 1 << 16;
  static constexpr Duration default_patience = std::chrono::seconds(60);

 private:
  struct Kept {
    std::optional<Completion> completion;
    void* owner = nullptr;
  };
  using Deadline = std::chrono::steady_clock::time_point;

  JobNumber copy(wire::CommandKind kind, const CopyRequest& request, Duration patience);
  template <typename Command>
  JobNumber send(Command& command, Part second, Part third, Duration patience, void* owner = nullptr);
  template <typename Ready>
  bool wait_until(std::unique_lock<std::mutex>& lock, Deadline deadline, Ready ready);
  /// Without the lock: spins and sleeps until the worker says something, or the deadline.
  void watch(Deadline deadline);
  void collect();
  std::vector<EndedJob> take_ended();
  void keep(std::span<const std::byte> record);
  void require_own_process() const;

  PortMemory memory_;
  Doorbell doorbell_;
  ForkGuard fork_guard_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  RingWriter commands_;
  RingReader completions_;  // of the watching thread while there is one
  SpinBudget spin_;         // likewise
  bool is_watched_ = false;
  bool is_gone_ = false;
  std::atomic<JobNumber> last_job_ = 0;
  std::unordered_map<JobNumber, Kept> jobs_;  // those not forgotten
  std::vector<JobNumber> ended_;              // among jobs_, once somebody wants to be told
  bool tells_ended_ = false;
  std::vector<std::byte> record_;
};

}  // namespace gpushare::daemon
