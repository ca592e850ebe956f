// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/client_port.hpp"

#include <algorithm>
#include <thread>

#include "core/model/errors.hpp"
#include "daemon/channel/peer_errors.hpp"

namespace gpushare::daemon {
namespace {

constexpr Duration longest_sleep(50'000'000);

/// Made and destroyed with the lock.
class Counted {
 public:
  explicit Counted(int& count) : count_(++count) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }

 private:
  int& count_;
};

}  // namespace

ClientPort::ClientPort(FileDescriptor memory, FileDescriptor doorbell, Duration most_spin)
    : memory_(PortMemory::map(std::move(memory))),
      doorbell_(std::move(doorbell)),
      fork_guard_(doorbell_.descriptor()),
      commands_(*memory_.commands().control, memory_.commands().bytes),
      completions_(*memory_.completions().control, memory_.completions().bytes),
      spin_(gpushare::most_spin(most_spin)) {}

ClientPort::~ClientPort() {
  if (fork_guard_.is_in_child()) static_cast<void>(changed_.release());
}

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
    command.header.job = last_job() + 1;  // others may have written meanwhile, and may as soon as the lock is free
    if (!commands_.write({part_of(command), second, third})) return false;
    last_job_.store(command.header.job, std::memory_order_relaxed);
    jobs_.add(command.header.job, owner);
    return true;
  };
  const auto write_or_announce = [&] {
    if (is_gone_) return false;
    if (try_write()) return true;
    commands_.announce_sleep();  // and tries once more: see ring.hpp
    return try_write();
  };
  if (is_gone_ || !try_write()) {
    const Counted sender(waiting_senders_);
    const bool written = wait_until(lock, Clock::now() + patience, write_or_announce);
    if (!written) throw PeerBusy("the worker takes no commands: it is busy with those of before, or stuck");
  }
  const bool ring = commands_.must_wake_reader();
  lock.unlock();
  if (ring) doorbell_.ring();
  return command.header.job;
}

/// This thread reads the ring for all waiting threads. Made and destroyed with the lock.
class ClientPort::Leading {
 public:
  explicit Leading(ClientPort& port) : port_(port) {
    port_.is_led_ = true;
    port_.completions_.cancel_sleep();
  }
  Leading(const Leading&) = delete;
  Leading& operator=(const Leading&) = delete;
  ~Leading() {
    port_.is_led_ = false;
    port_.announce_rest();
    port_.changed_->notify_all();
  }

 private:
  ClientPort& port_;
};

template <typename Ready>
bool ClientPort::wait_until(std::unique_lock<std::mutex>& lock, Deadline deadline, Ready ready) {
  for (bool is_ready = false;;) {
    collect();  // also records that came before the last leader announced its sleep
    if (is_ready || ready()) return true;
    if (is_gone_) throw PeerGone("the gpushare worker has ended, or the connection was closed");
    if (Clock::now() >= deadline) return false;
    if (is_led_) {
      changed_->wait_until(lock, deadline);
    } else {
      is_ready = lead(lock, deadline, ready);
    }
  }
}

/// Runs until there is a record, or the caller is ready. `ready` is called once, as it may have effects.
template <typename Ready>
bool ClientPort::lead(std::unique_lock<std::mutex>& lock, Deadline deadline, Ready ready) {
  const Leading leading(*this);
  const std::uint64_t position = completions_.position();
  const auto start = Clock::now();
  const auto until = std::min(start + spin_.begin_wait(), deadline);
  lock.unlock();
  bool is_there = completions_.has_record_after(position);
  for (; !is_there && Clock::now() < until; is_there = completions_.has_record_after(position)) relax();
  lock.lock();
  bool is_ready = false;
  if (!is_there && !is_gone_) {
    completions_.announce_sleep(Sleeper::AtWord);
    is_ready = ready();                                // once more after the announcement: see ring.hpp
    if (waiting_senders_ > 0) changed_->notify_all();  // the ring may have got room since, without a wake-up
    if (!is_ready && !completions_.has_record_after(position)) {
      lock.unlock();
      sleep(deadline);
      lock.lock();
    }
  }
  spin_.end_wait(Clock::now() - start);
  collect();
  return is_ready;
}

/// Without a leader, the thread that takes ended jobs hears the bell, if it rests.
void ClientPort::announce_rest() {
  if (rests_) {
    completions_.announce_sleep();
  } else {
    completions_.cancel_sleep();
  }
}

/// Notices the end of the worker a little late where no thread listens to the bell.
void ClientPort::sleep(Deadline deadline) {
  const auto longest = std::min<Clock::duration>(deadline - Clock::now(), longest_sleep);
  if (completions_.sleep_at_word(longest) || !doorbell_.is_hung_up()) return;
  const std::lock_guard lock(mutex_);
  set_gone();
}

void ClientPort::set_gone() {
  is_gone_ = true;
  completions_.end_sleep_at_word();
  changed_->notify_all();
}

void ClientPort::collect() {
  std::size_t count = 0;
  while (auto end = completions_.read_end()) {
    jobs_.end(end->first, std::move(end->second));
    ++count;
  }
  if (count == 0) return;
  has_ended_unled_ |= !is_led_;
  if (completions_.must_wake_writer()) doorbell_.ring();
}

std::optional<JobResult> ClientPort::wait(JobNumber job, Duration timeout) {
  require_own_process();
  std::unique_lock lock(mutex_);
  require_lazily(jobs_.knows(job),
                 [&] { return "job " + std::to_string(job) + ": there is none, or it has been forgotten"; });
  if (!wait_until(lock, Clock::now() + timeout, [&] { return jobs_.is_over(job); })) return std::nullopt;
  const JobResult* result = jobs_.result(job);
  require_lazily(result != nullptr,
                 [&] { return "job " + std::to_string(job) + " has been forgotten by another thread"; });
  return *result;
}

Awaited ClientPort::await(JobNumber job, Duration timeout) {
  require_own_process();
  std::unique_lock lock(mutex_);
  jobs_.collect_ends();
  jobs_.begin_wait(job);
  Awaited awaited{.job = Awaited::Job::Unknown};
  const bool is_over = wait_until(lock, Clock::now() + timeout, [&] { return jobs_.is_over(job); });
  if (jobs_.knows(job)) awaited.job = is_over ? Awaited::Job::Ended : Awaited::Job::Unfinished;
  jobs_.end_wait(job, is_over);
  jobs_.take_ended(awaited.ended);
  return awaited;
}

bool ClientPort::take_all_ended(std::vector<EndedJob>& told) {
  require_own_process();
  const std::lock_guard lock(mutex_);
  jobs_.collect_ends();
  collect();
  rests_ = !std::exchange(has_ended_unled_, false) && !jobs_.has_left();
  if (!is_led_) announce_rest();
  collect();  // ring.hpp says why
  told = jobs_.take_left();
  jobs_.take_ended(told);
  return !rests_;
}

void ClientPort::leave(std::vector<EndedJob> ended) {
  const std::lock_guard lock(mutex_);
  jobs_.leave(std::move(ended));
}

bool ClientPort::hear() {
  if (doorbell_.hear()) return true;
  const std::lock_guard lock(mutex_);
  set_gone();
  return false;
}

std::vector<EndedJob> ClientPort::abandon() {
  if (fork_guard_.is_in_child()) return {};
  close();
  const std::lock_guard lock(mutex_);
  try {
    collect();
  } catch (const PeerViolation&) {  // then that was all
  }
  return jobs_.take_all();
}

void ClientPort::forget(JobNumber job) {
  if (fork_guard_.is_in_child()) return;
  const std::lock_guard lock(mutex_);
  jobs_.forget(job);
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
    set_gone();
  }
  doorbell_.hang_up();
}

}  // namespace gpushare::daemon
