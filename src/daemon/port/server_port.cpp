// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/server_port.hpp"

#include <algorithm>

#include "core/model/errors.hpp"
#include "daemon/channel/peer_errors.hpp"

namespace gpushare::daemon {

std::pair<std::shared_ptr<ServerPort>, ClientEnds> ServerPort::open(ClientId client, const PortLimits& limits) {
  require(limits.completion_ring_bytes >= 2 * wire::most_completion_bytes && limits.command_ring_bytes >= 1024 &&
              limits.most_jobs >= 1,
          "a port needs rings of at least 1024 (commands) and 2080 (completions) bytes, and at least one job");
  PortMemory memory = PortMemory::create(limits.command_ring_bytes, limits.completion_ring_bytes);
  auto [own_end, other_end] = Doorbell::make();
  ClientEnds ends{.memory = FileDescriptor::duplicate(memory.descriptor()), .doorbell = std::move(other_end)};
  std::shared_ptr<ServerPort> port(new ServerPort(client, std::move(memory), std::move(own_end), limits));
  return {std::move(port), std::move(ends)};
}

ServerPort::ServerPort(ClientId client, PortMemory memory, Doorbell doorbell, const PortLimits& limits)
    : client_(client),
      limits_(limits),
      memory_(std::move(memory)),
      doorbell_(std::move(doorbell)),
      commands_(*memory_.commands().control, memory_.commands().bytes),
      jobs_(limits.most_fences),
      places_(limits.most_jobs, limits.own_jobs, limits.pool),
      completions_(*memory_.completions().control, memory_.completions().bytes),
      removals_(limits.most_jobs) {}

ServerPort::~ServerPort() {
  const std::lock_guard lock(mutex_);
  give_back_places(0);
}

PortStatistics ServerPort::statistics() const {
  const std::lock_guard lock(mutex_);
  return {.commands = jobs_.commands(),
          .completions = completions_.completions(),
          .refused = completions_.refused(),
          .unfinished = jobs_.unfinished()};
}

bool ServerPort::may_accept() {
  const std::lock_guard lock(mutex_);
  if (!completions_.violation().empty()) throw PeerViolation(completions_.violation());
  flush();
  update_stalled();
  return !places_.is_stalled();
}

void ServerPort::update_stalled() {
  give_back_places(jobs() + 1);
  places_.allow_one_more(jobs());
}

void ServerPort::give_back_places(std::size_t jobs) {
  if (places_.give_back(jobs) && server_bell_ != nullptr) server_bell_->ring();
}

std::size_t ServerPort::serve(CommandSink& sink, std::size_t most_commands, std::span<std::byte> scratch) {
  std::size_t count = 0;
  if (!commands_.has_record() && !attention_.load(std::memory_order_relaxed)) return count;
  for (; count < most_commands && may_accept(); ++count) {
    const std::optional<std::size_t> size = commands_.read(scratch);
    if (!size) break;
    accept(scratch.first(*size), sink);
  }
  if (attention_.load(std::memory_order_relaxed)) remove_freed();
  if (count > 0 && commands_.must_wake_writer()) wake_client(completions_.take_sleeper());
  return count;
}

void ServerPort::accept(std::span<const std::byte> record, CommandSink& sink) {
  const wire::CommandHeader header = header_of(record);
  require_peer(header.job == removals_.last_job() + 1, "a job's number is not the next one");
  carry_out(header, record, sink);
  removals_.set_last_job(header.job);
}

void ServerPort::carry_out(const wire::CommandHeader& header, std::span<const std::byte> record, CommandSink& sink) {
  switch (header.kind) {
    case wire::CommandKind::Launch:
      return hand_on(
          header.job, [&] { return check_launch(record, tables_, limits_.most_blocks); },
          [&](LaunchCommand&& command) {
            count(command);
            sink.launch(std::move(command));
          });
    case wire::CommandKind::CopyIn:
    case wire::CommandKind::CopyOut:
      return hand_on(
          header.job, [&] { return check_copy(record, tables_); },
          [&](CopyCommand&& command) { sink.copy(std::move(command)); });
    case wire::CommandKind::Fence:
      require_peer(record.size() == sizeof(wire::Fence), "a fence's size is wrong");
      return accept_fence(header.job);
  }
  throw PeerViolation("a command is of a kind that this version does not know");
}

template <typename Check, typename HandOn>
void ServerPort::hand_on(std::uint64_t job, Check check, HandOn hand_on) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.begin();
  }
  JobReply reply(shared_from_this(), job);
  try {
    auto command = check();
    command.client = client_;
    command.reply = std::move(reply);
    try {
      hand_on(std::move(command));
    } catch (...) {
      reply = std::move(command.reply);
      throw;
    }
  } catch (const InvalidInput& impossible) {
    if (reply.is_owed()) reply.complete({.status = JobStatus::Refused, .message = impossible.what()});
  } catch (const PeerViolation&) {
    throw;
  } catch (const std::exception& failure) {
    if (reply.is_owed()) reply.complete({.status = JobStatus::Failed, .message = failure.what()});
  }
}

void ServerPort::count(LaunchCommand& command) {
  const ApplicationEntry& application = *command.application;
  if (application.account == nullptr) return;
  const KernelEntry& kernel = *command.kernel;
  std::optional<double> alone;
  if (kernel.alone) alone = kernel.alone->of(double{1} * command.grid[0] * command.grid[1] * command.grid[2]);
  command.reply.count_in({application.account, alone});
}

template <typename Entry>
void ServerPort::remove_after(HandleTable<Entry>& table, Handle handle, std::uint64_t job) {
  table.find(handle);
  {
    const std::lock_guard lock(mutex_);
    if (job > removals_.last_job()) {
      removals_.add(job, [&table, handle] { return table.remove(handle); });
      attention_ = true;
      return;
    }
  }
  table.remove(handle);
}

template void ServerPort::remove_after(HandleTable<ArrayEntry>&, Handle, std::uint64_t);
template void ServerPort::remove_after(HandleTable<KernelEntry>&, Handle, std::uint64_t);
template void ServerPort::remove_after(HandleTable<ApplicationEntry>&, Handle, std::uint64_t);

void ServerPort::remove_freed() {
  std::vector<std::shared_ptr<const void>> gone;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  gone = removals_.take_due();
  update_attention();
}

bool ServerPort::wait_idle(Duration timeout) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, timeout, [&] { return jobs_.unfinished() == 0; });
}

void ServerPort::update_attention() {
  attention_ = completions_.late() > 0 || !completions_.violation().empty() || !removals_.empty();
}

void ServerPort::accept_fence(std::uint64_t job) {
  const std::int64_t now = monotonic_now();
  Sleeper sleeper{};
  {
    const std::lock_guard lock(mutex_);
    switch (jobs_.add_fence(job, now)) {
      case FenceFate::Ends:
        put(job, now, {.started = now});
        break;
      case FenceFate::Waits:
        break;
      case FenceFate::Refused:
        put(job, now,
            {.status = JobStatus::Refused,
             .message = std::to_string(limits_.most_fences) + " fences wait already, which is the most that may"});
    }
    sleeper = completions_.take_sleeper();
  }
  wake_client(sleeper);
}

void ServerPort::wake_client(Sleeper where) {
  if (where == Sleeper::AtBell) doorbell_.ring();
  if (where == Sleeper::AtWord) completions_.wake_at_word();
}

bool ServerPort::try_to_sleep() {
  commands_.announce_sleep();
  const std::lock_guard lock(mutex_);
  if (completions_.late() > 0) completions_.announce_sleep();
  flush();
  update_stalled();
  // A stalled client is woken by a completion, or when it reads.
  return completions_.violation().empty() && !removals_.is_any_due() &&
         (places_.is_stalled() || !commands_.has_record());
}

void ServerPort::put(std::uint64_t job, std::int64_t accepted, const JobOutcome& outcome) {
  completions_.put(job, accepted, outcome);
  // A violation is reported by the port server's thread: this one may be the session's.
  if (completions_.late() > 0 || !completions_.violation().empty()) attention_ = true;
}

void ServerPort::flush() {
  if (completions_.late() == 0) return;
  completions_.flush();
  update_attention();
  wake_client(completions_.take_sleeper());
}

void ServerPort::complete(std::uint64_t job, std::int64_t accepted, const JobOutcome& outcome) {
  Sleeper sleeper{};
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    jobs_.end();
    if (jobs_.unfinished() == 0 && closed_) idle_.notify_all();
    if (!closed_) {
      put(job, accepted, outcome);
      jobs_.end_fences(job, [&](std::uint64_t fence, std::int64_t since) { put(fence, since, {.started = since}); });
      sleeper = completions_.take_sleeper();
      wake = places_.resume() || completions_.late() > 0 || !completions_.violation().empty();
    }
    wake |= places_.give_back(jobs());
  }
  wake_client(sleeper);
  if (wake && server_bell_ != nullptr) server_bell_->ring();
}

void ServerPort::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  doorbell_.hang_up();
}

}  // namespace gpushare::daemon
