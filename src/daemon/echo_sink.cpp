// SPDX-License-Identifier: Apache-2.0
#include "daemon/echo_sink.hpp"

#include "daemon/host_copier.hpp"

namespace gpushare::daemon {

EchoSink::EchoSink(Duration after) : after_(after) {
  if (after_ > Duration{}) thread_ = std::thread([this] { run(); });
}

EchoSink::~EchoSink() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EchoSink::launch(LaunchCommand&& command) {
  const std::int64_t now = command.reply.accepted();
  if (after_ == Duration{}) return command.reply.complete({.started = now});
  {
    const std::lock_guard lock(mutex_);
    running_.emplace(now + after_.count(), std::move(command));
  }
  changed_.notify_all();
}

void EchoSink::copy(CopyCommand&& command) {
  const std::int64_t now = monotonic_now();
  copy_in_host_memory(command);
  command.reply.complete({.started = now});
}

void EchoSink::client_gone(ClientId client) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto each = running_.begin(); each != running_.end();) {
    const bool is_its = each->second.client == client;
    if (is_its) each->second.reply.complete({.status = JobStatus::Withdrawn, .message = "its client has ended"});
    each = is_its ? running_.erase(each) : std::next(each);
  }
}

void EchoSink::run() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (running_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const std::int64_t end = running_.begin()->first;
    const std::int64_t left = end - monotonic_now();
    if (left > 0) {
      changed_.wait_for(lock, Duration(left));
      continue;
    }
    auto ended = running_.extract(running_.begin());
    lock.unlock();
    LaunchCommand& command = ended.mapped();
    command.reply.complete({.started = command.reply.accepted(), .ended = end});
    lock.lock();
  }
}

}  // namespace gpushare::daemon
