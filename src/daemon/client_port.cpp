// SPDX-License-Identifier: Apache-2.0
#include "daemon/client_port.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "core/errors.hpp"
#include "daemon/peer_errors.hpp"

namespace gpushare::daemon {

ClientPort::ClientPort(FileDescriptor memory, FileDescriptor doorbell, Duration most_spin)
    : memory_(PortMemory::map(std::move(memory))),
      doorbell_(std::move(doorbell)),
      fork_guard_(doorbell_.descriptor()),
      commands_(*memory_.commands().control, memory_.commands().bytes),
      completions_(*memory_.completions().control, memory_.completions().bytes),
      spin_(gpushare::most_spin(most_spin)),
      record_(wire::most_completion_bytes) {}

void ClientPort::require_own_process() const {
  if (fork_guard_.is_in_child()) {
    throw PeerGone("this connection belongs to the process that this one was forked from: connect anew");
  }
}

JobNumber ClientPort::launch(const LaunchRequest& request, Duration patience) {
  require_lazily(
      request.arguments.size() <= wire::most_argument_bytes && request.arrays.size() <= wire::most_references, [&] {
        return std::to_string(request.arguments.size()) + " bytes of arguments: at most " +
               std::to_string(wire::most_argument_bytes);
      });
  wire::Launch command{.header = {.kind = wire::CommandKind::Launch},
                       .application = request.application,
                       .kernel = request.kernel,
                       .grid = request.grid,
                       .argument_bytes = static_cast<std::uint32_t>(request.arguments.size()),
                       .references = static_cast<std::uint32_t>(request.arrays.size())};
  return send(command, std::as_bytes(request.arrays), request.arguments, patience, request.owner);
}

JobNumber ClientPort::copy(wire::CommandKind kind, const CopyRequest& request, Duration patience) {
  wire::Copy command{.header = {.kind = kind},
                     .application = request.application,
                     .array = request.array,
                     .array_offset = request.array_offset,
                     .arena = request.arena,
                     .arena_offset = request.arena_offset,
                     .bytes = request.bytes};
  return send(command, {}, {}, patience);
}

JobNumber ClientPort::copy_in(const CopyRequest& request, Duration patience) {
  return copy(wire::CommandKind::CopyIn, request, patience);
}

JobNumber ClientPort::copy_out(const CopyRequest& request, Duration patience) {
  return copy(wire::CommandKind::CopyOut, request, patience);
}

JobNumber ClientPort::fence(Duration patience) {
  wire::Fence command{.header = {.kind = wire::CommandKind::Fence}};
  return send(command, {}, {}, patience);
}

template <typename Command>
JobNumber ClientPort::send(Command& command, Part second, Part third, Duration patience, void* owner) {
  const std::size_t bytes = sizeof(command) + second.size() + third.size();
  require_lazily(bytes <= commands_.most_record_bytes(), [&] {
    return "a command of " + std::to_string(bytes) + " bytes: the port's ring takes at most " +
           std::to_string(commands_.most_record_bytes());
  });
  require_own_process();
  command.header.bytes = static_cast<std::uint32_t>(bytes);
  std::unique_lock lock(mutex_);
  require_lazily(jobs_.size() < most_jobs, [] {
    return "a client can keep " + std::to_string(most_jobs) + " jobs: forget those that have ended";
  });
  const auto try_write = [&] {
    command.header.job = last_job() + 1;  // others may have written meanwhile
    return commands_.write({part_of(command), second, third});
  };
  const auto write_or_announce = [&] {
    if (is_gone_) return false;
    if (try_write()) return true;
    commands_.announce_sleep();  // and once more: ring.hpp says why
    return try_write();
  };
  if (is_gone_ || !try_write()) {
    const bool written = wait_until(lock, std::chrono::steady_clock::now() + patience, write_or_announce);
    if (!written) throw PeerBusy("the worker takes no commands: it is busy with those of before, or stuck");
  }
  const JobNumber job = command.header.job;
  last_job_.store(job, std::memory_order_relaxed);
  jobs_.emplace(job, Kept{.owner = owner});
  const bool ring = commands_.must_wake_reader();
  lock.unlock();
  if (ring) doorbell_.ring();
  return job;
}

template <typename Ready>
bool ClientPort::wait_until(std::unique_lock<std::mutex>& lock, Deadline deadline, Ready ready) {
  while (true) {
    if (!is_watched_) collect();
    if (ready()) return true;
    if (is_gone_) throw PeerGone("the gpushare worker has ended, or the connection was closed");
    if (std::chrono::steady_clock::now() >= deadline) return false;
    if (is_watched_) {
      changed_.wait_until(lock, deadline);
      continue;
    }
    is_watched_ = true;
    lock.unlock();
    watch(deadline);
    lock.lock();
    is_watched_ = false;
    changed_.notify_all();  // before anything that may throw; they look once this thread lets go of the lock
    collect();
  }
}

void ClientPort::watch(Deadline deadline) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto until = std::min(start + spin_.begin_wait(), deadline);
  bool is_there = completions_.has_record();
  for (; !is_there && Clock::now() < until; is_there = completions_.has_record()) relax();
  if (!is_there) {
    completions_.announce_sleep();
    is_there = completions_.has_record() || doorbell_.wait(deadline - Clock::now());
    completions_.cancel_sleep();
  }
  spin_.end_wait(Clock::now() - start);
  if (is_there) return;
  const std::lock_guard lock(mutex_);
  is_gone_ = true;
}

void ClientPort::collect() {
  std::size_t count = 0;
  while (const auto size = completions_.read(record_)) {
    keep(std::span<const std::byte>(record_).first(*size));
    ++count;
  }
  if (count > 0 && completions_.must_wake_writer()) doorbell_.ring();
}

void ClientPort::keep(std::span<const std::byte> record) {
  wire::Completion wire{};
  require_peer(record.size() >= sizeof(wire), "a completion is too short");
  std::memcpy(&wire, record.data(), sizeof(wire));
  require_peer(record.size() == sizeof(wire) + wire.message_bytes, "a completion's size is wrong");
  const auto job = jobs_.find(wire.job);
  if (job == jobs_.end()) return;  // forgotten
  const auto* text = reinterpret_cast<const char*>(record.data() + sizeof(wire));
  job->second.completion = {.status = static_cast<JobStatus>(wire.status),
                            .accepted = wire.accepted,
                            .started = wire.started,
                            .ended = wire.ended,
                            .message = std::string(text, wire.message_bytes)};
  if (tells_ended_) ended_.push_back(wire.job);
}

std::optional<Completion> ClientPort::wait(JobNumber job, Duration timeout) {
  require_own_process();
  std::unique_lock lock(mutex_);
  auto found = jobs_.find(job);
  require_lazily(found != jobs_.end(),
                 [&] { return "job " + std::to_string(job) + ": there is none, or it has been forgotten"; });
  const auto has_ended = [&] {
    found = jobs_.find(job);
    return found == jobs_.end() || found->second.completion.has_value();
  };
  if (!wait_until(lock, std::chrono::steady_clock::now() + timeout, has_ended)) return std::nullopt;
  require_lazily(found != jobs_.end(),
                 [&] { return "job " + std::to_string(job) + " has been forgotten by another thread"; });
  return found->second.completion;
}

std::vector<EndedJob> ClientPort::wait_ended(Duration timeout) {
  require_own_process();
  std::unique_lock lock(mutex_);
  if (!std::exchange(tells_ended_, true)) {
    for (const auto& [job, kept] : jobs_) {
      if (kept.completion) ended_.push_back(job);
    }
  }
  wait_until(lock, std::chrono::steady_clock::now() + timeout, [&] { return !ended_.empty(); });
  return take_ended();
}

std::vector<EndedJob> ClientPort::take_ended() {
  std::vector<EndedJob> told;
  for (const JobNumber job : std::exchange(ended_, {})) {
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) continue;  // forgotten
    told.push_back({job, std::move(*found->second.completion), found->second.owner});
    jobs_.erase(found);
  }
  return told;
}

std::vector<EndedJob> ClientPort::abandon() {
  if (fork_guard_.is_in_child()) return {};
  close();
  const std::lock_guard lock(mutex_);
  try {
    collect();
  } catch (const PeerViolation&) {  // then that was all
  }
  std::vector<EndedJob> told = take_ended();
  for (auto& [job, kept] : jobs_) {
    Completion lost{.is_lost = true};
    told.push_back({job, kept.completion ? std::move(*kept.completion) : lost, kept.owner});
  }
  jobs_.clear();
  std::ranges::sort(told, {}, &EndedJob::job);
  return told;
}

void ClientPort::forget(JobNumber job) {
  if (fork_guard_.is_in_child()) return;
  const std::lock_guard lock(mutex_);
  jobs_.erase(job);
}

std::size_t ClientPort::kept_jobs() const {
  require_own_process();
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

void ClientPort::close() {
  if (fork_guard_.is_in_child()) return;
  {
    const std::lock_guard lock(mutex_);
    is_gone_ = true;
  }
  doorbell_.hang_up();
}

}  // namespace gpushare::daemon
