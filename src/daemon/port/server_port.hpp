// SPDX-License-Identifier: Apache-2.0
// The worker's side of one client: commands come from a ring of which every byte may be forged, completions go into
// another one that its client may never read. Memory is bounded either way: when a client has `most_jobs` jobs that
// have not ended, or with ends that it has not read, no more of its commands are read. The clients of a user may share
// places for jobs: then commands of a client with `own_jobs` jobs are read only while one of those places is free.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "daemon/channel/doorbell.hpp"
#include "daemon/channel/port_memory.hpp"
#include "daemon/channel/server_bell.hpp"
#include "daemon/command_check.hpp"
#include "daemon/port/accepted_jobs.hpp"
#include "daemon/port/completion_writer.hpp"
#include "daemon/port/job_pool.hpp"
#include "daemon/port/late_removals.hpp"

namespace gpushare::daemon {

struct PortLimits {
  std::size_t command_ring_bytes = 1 << 18;
  std::size_t completion_ring_bytes = 1 << 18;
  std::size_t most_jobs = 4096;
  std::size_t own_jobs = 4096;             ///< that need no place of the pool
  std::shared_ptr<JobPool> pool{};         ///< nullptr: no job needs one
  std::size_t most_fences = 64;            ///< that wait at a time: each is checked at every completion
  std::uint64_t most_blocks = 1ull << 40;  ///< of a launch
};

/// The client's part of a port. The worker must close its copies, or it never notices the end of the client.
struct ClientEnds {
  FileDescriptor memory;
  FileDescriptor doorbell;
};

struct PortStatistics {
  std::uint64_t commands = 0;
  std::uint64_t completions = 0;
  std::uint64_t refused = 0;
  std::uint64_t unfinished = 0;  ///< jobs accepted that have not ended
};

class ServerPort : public CompletionTarget, public std::enable_shared_from_this<ServerPort> {
 public:
  ~ServerPort() override;
  /// A port for the client, and what to hand it.
  static std::pair<std::shared_ptr<ServerPort>, ClientEnds> open(ClientId client, const PortLimits& limits);

  ClientId client() const { return client_; }
  ClientTables& tables() { return tables_; }
  /// Takes the array, the kernel or the application out of its table once the job of that number, which the client had
  /// submitted before it gave it up, has been read: control messages may overtake commands.
  void remove_array_after(Handle array, std::uint64_t job) { remove_after(tables_.arrays, array, job); }
  void remove_kernel_after(Handle kernel, std::uint64_t job) { remove_after(tables_.kernels, kernel, job); }
  void remove_application_after(Handle application, std::uint64_t job) {
    remove_after(tables_.applications, application, job);
  }
  /// Once the port is closed: have all jobs ended?
  bool wait_idle(Duration timeout);
  PortStatistics statistics() const;

  // For the port server's thread alone.
  /// Passes on commands, at most so many, and flushes completions. Returns the number of commands. Throws
  /// PeerViolation. `scratch` takes one command; clients share it, because the largest is a hundred times as long as
  /// most.
  std::size_t serve(CommandSink& sink, std::size_t most_commands, std::span<std::byte> scratch);
  /// Announces the sleep of this side; false if there is something to do after all.
  bool try_to_sleep();
  void wake_up() { commands_.cancel_sleep(); }
  const Doorbell& doorbell() const { return doorbell_; }

  // For any thread.
  void complete(std::uint64_t job, std::int64_t accepted, const JobOutcome& outcome) override;
  /// Drops completions from now on, and hangs up.
  void close();
  /// Sets the bell that is rung when the port needs service while its server may sleep. Set before the first command.
  void set_server_bell(std::shared_ptr<ServerBell> bell) { server_bell_ = std::move(bell); }

 private:
  ServerPort(ClientId client, PortMemory memory, Doorbell doorbell, const PortLimits& limits);

  void accept(std::span<const std::byte> record, CommandSink& sink);
  void carry_out(const wire::CommandHeader& header, std::span<const std::byte> record, CommandSink& sink);
  void count(LaunchCommand& command);
  void accept_fence(std::uint64_t job);
  template <typename Check, typename HandOn>
  void hand_on(std::uint64_t job, Check check, HandOn hand_on);
  bool may_accept();
  template <typename Entry>
  void remove_after(HandleTable<Entry>& table, Handle handle, std::uint64_t job);
  void remove_freed();
  // With mutex_ held:
  void update_stalled();
  std::size_t jobs() const { return jobs_.unfinished() + jobs_.waiting_fences() + completions_.late(); }
  void give_back_places(std::size_t jobs);
  void put(std::uint64_t job, std::int64_t accepted, const JobOutcome& outcome);
  void flush();
  void update_attention();
  // Any thread, with or without the lock:
  void wake_client(Sleeper where);

  const ClientId client_;
  const PortLimits limits_;
  PortMemory memory_;
  Doorbell doorbell_;
  ClientTables tables_;
  std::shared_ptr<ServerBell> server_bell_;

  RingReader commands_;                  // the port server's thread's
  std::atomic<bool> attention_ = false;  // something besides commands is to be done

  mutable std::mutex mutex_;  // of what follows
  AcceptedJobs jobs_;
  JobPlaces places_;
  CompletionWriter completions_;
  LateRemovals removals_;
  std::condition_variable idle_;
  bool closed_ = false;
};

}  // namespace gpushare::daemon
