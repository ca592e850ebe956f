// SPDX-License-Identifier: Apache-2.0
#include "daemon/server_port.hpp"

#include <algorithm>

#include "core/model/errors.hpp"
#include "daemon/channel/peer_errors.hpp"

namespace gpushare::daemon {
namespace {

/// Names may make a message long. Its beginning describes the end of the job, and its end the device's error.
std::string shortened(const std::string& message) {
  static constexpr std::string_view gap = " ... ";
  static constexpr std::size_t half = (wire::most_message_bytes - gap.size()) / 2;
  if (message.size() <= wire::most_message_bytes) return message;
  return message.substr(0, half).append(gap).append(message, message.size() - half);
}

}  // namespace

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
      completions_(*memory_.completions().control, memory_.completions().bytes) {}

ServerPort::~ServerPort() {
  const std::lock_guard lock(mutex_);
  if (give_back_places(0) && server_bell_ != nullptr) server_bell_->ring();
}

PortStatistics ServerPort::statistics() const {
  const std::lock_guard lock(mutex_);
  PortStatistics now = statistics_;
  now.unfinished = unfinished_;
  return now;
}

bool ServerPort::may_accept() {
  const std::lock_guard lock(mutex_);
  if (!violation_.empty()) throw PeerViolation(violation_);
  flush();
  update_stalled();
  return !stalled_;
}

void ServerPort::update_stalled() { stalled_ = jobs() >= limits_.most_jobs || !has_places_for(jobs() + 1); }

bool ServerPort::has_places_for(std::size_t jobs) {
  if (limits_.pool == nullptr) return true;
  if (give_back_places(jobs) && server_bell_ != nullptr) server_bell_->ring();
  while (limits_.own_jobs + places_ < jobs) {
    if (!limits_.pool->take()) return false;
    ++places_;
  }
  return true;
}

/// Those that so many jobs do not need. True: another port waits for one.
bool ServerPort::give_back_places(std::size_t jobs) {
  const std::size_t needed = jobs > limits_.own_jobs ? jobs - limits_.own_jobs : 0;
  if (places_ <= needed) return false;
  return limits_.pool->give_back(std::exchange(places_, needed) - needed);
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
  require_peer(header.job == last_job_.load(std::memory_order_relaxed) + 1, "a job's number is not the next one");
  carry_out(header, record, sink);
  last_job_.store(header.job, std::memory_order_release);
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
    ++unfinished_;
    ++statistics_.commands;
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
    if (job > last_job_.load(std::memory_order_acquire)) {
      require_lazily(freed_.size() < limits_.most_jobs, [&] {
        return std::to_string(freed_.size()) +
               " freed arrays, kernels and applications wait for commands that have not come";
      });
      freed_.emplace(job, [&table, handle] { return table.remove(handle); });
      attention_ = true;
      return;
    }
  }
  table.remove(handle);
}

template void ServerPort::remove_after(HandleTable<ArrayEntry>&, Handle, std::uint64_t);
template void ServerPort::remove_after(HandleTable<KernelEntry>&, Handle, std::uint64_t);
template void ServerPort::remove_after(HandleTable<ApplicationEntry>&, Handle, std::uint64_t);

/// Entries are removed without the lock: their owners' destructors may run any code.
void ServerPort::remove_freed() {
  std::vector<std::shared_ptr<const void>> gone;
  const std::lock_guard lock(mutex_);
  const auto waiting = freed_.upper_bound(last_job_.load(std::memory_order_relaxed));
  for (auto each = freed_.begin(); each != waiting; each = freed_.erase(each)) {
    try {
      gone.push_back(each->second());
    } catch (const InvalidInput&) {  // freed twice, or never there: there is no command to answer
    }
  }
  update_attention();
}

bool ServerPort::wait_idle(Duration timeout) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, timeout, [&] { return unfinished_ == 0; });
}

void ServerPort::update_attention() { attention_ = !late_.empty() || !violation_.empty() || !freed_.empty(); }

void ServerPort::accept_fence(std::uint64_t job) {
  const std::int64_t now = monotonic_now();
  Sleeper sleeper{};
  {
    const std::lock_guard lock(mutex_);
    ++statistics_.commands;
    if (fences_.size() >= limits_.most_fences) {
      put(job, now,
          {.status = JobStatus::Refused,
           .message = std::to_string(limits_.most_fences) + " fences wait already, which is the most that may"});
    } else if (unfinished_ == 0) {
      put(job, now, {.started = now});
    } else {
      fences_.push_back({.job = job, .accepted = now, .unfinished_before = unfinished_});
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
  if (!late_.empty()) completions_.announce_sleep();
  flush();
  update_stalled();
  // A stalled client is woken by a completion, or when it reads.
  const bool is_any_due = !freed_.empty() && freed_.begin()->first <= last_job_.load(std::memory_order_relaxed);
  return violation_.empty() && !is_any_due && (stalled_ || !commands_.has_record());
}

void ServerPort::put(std::uint64_t job, std::int64_t accepted, const JobOutcome& outcome) {
  LateCompletion late{.completion = {.job = job,
                                     .status = static_cast<std::uint16_t>(outcome.status),
                                     .accepted = accepted,
                                     .started = outcome.started,
                                     .ended = outcome.ended != 0 ? outcome.ended : monotonic_now()},
                      .message = shortened(outcome.message)};
  late.completion.message_bytes = static_cast<std::uint16_t>(late.message.size());
  ++statistics_.completions;
  if (outcome.status == JobStatus::Refused) ++statistics_.refused;
  if (!late_.empty() || !try_write(late)) late_.push_back(std::move(late));
  if (!late_.empty()) attention_ = true;
}

bool ServerPort::try_write(const LateCompletion& late) {
  try {
    return completions_.write({part_of(late.completion), std::as_bytes(std::span(late.message))});
  } catch (const PeerViolation& violation) {
    violation_ = violation.what();  // reported by the port server's thread: this one may be the session's
    attention_ = true;
    return true;
  }
}

void ServerPort::flush() {
  if (late_.empty()) return;
  while (!late_.empty() && try_write(late_.front())) late_.pop_front();
  update_attention();
  wake_client(completions_.take_sleeper());
}

void ServerPort::end_fences_after(std::uint64_t job) {
  std::erase_if(fences_, [&](WaitingFence& fence) {
    if (job > fence.job || --fence.unfinished_before > 0) return false;
    put(fence.job, fence.accepted, {.started = fence.accepted});
    return true;
  });
}

void ServerPort::complete(std::uint64_t job, std::int64_t accepted, const JobOutcome& outcome) {
  Sleeper sleeper{};
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (--unfinished_ == 0 && closed_) idle_.notify_all();
    if (!closed_) {
      put(job, accepted, outcome);
      end_fences_after(job);
      sleeper = completions_.take_sleeper();
      wake = std::exchange(stalled_, false) || !late_.empty() || !violation_.empty();
    }
    wake |= give_back_places(jobs());
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
