// SPDX-License-Identifier: Apache-2.0
// The client's side of its port: any thread submits and waits, without a thread of its own. Of those who wait, one at a
// time watches the doorbell for all; whoever finds the ring full waits with them.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/doorbell.hpp"
#include "daemon/fork_guard.hpp"
#include "daemon/handle_table.hpp"
#include "daemon/job_reply.hpp"
#include "daemon/port_memory.hpp"
#include "daemon/spin.hpp"
#include "daemon/wire.hpp"

namespace gpushare::daemon {

using JobNumber = std::uint64_t;  ///< 1, 2, 3, ... of a port

struct LaunchRequest {
  Handle application = 0;
  Handle kernel = 0;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::span<const std::byte> arguments{};
  std::span<const wire::ArrayReference> arrays{};
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
  std::int64_t accepted = 0;
  std::int64_t started = 0;
  std::int64_t ended = 0;
  std::string message;
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
  std::vector<std::pair<JobNumber, Completion>> wait_ended(Duration timeout);
  /// Nobody will ask for this job any more. Jobs that nobody forgets are kept.
  void forget(JobNumber job);
  /// How many jobs are kept.
  std::size_t kept_jobs() const;

  /// Everything that waits, or begins to, gets PeerGone.
  void close();

  static constexpr Duration default_patience = std::chrono::seconds(60);

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  JobNumber copy(wire::CommandKind kind, const CopyRequest& request, Duration patience);
  template <typename Command>
  JobNumber send(Command& command, Part second, Part third, Duration patience);
  template <typename Ready>
  bool wait_until(std::unique_lock<std::mutex>& lock, Deadline deadline, Ready ready);
  /// Without the lock: spins and sleeps until the worker says something, or the deadline.
  void watch(Deadline deadline);
  void collect();
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
  JobNumber last_job_ = 0;
  std::unordered_map<JobNumber, std::optional<Completion>> jobs_;  // those not forgotten
  std::vector<JobNumber> ended_;                                   // among jobs_, once somebody wants to be told
  bool tells_ended_ = false;
  std::vector<std::byte> record_;
};

}  // namespace gpushare::daemon
