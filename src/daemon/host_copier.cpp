// SPDX-License-Identifier: Apache-2.0
#include "daemon/host_copier.hpp"

#include <cstring>

namespace gpushare::daemon {

void copy_in_host_memory(const CopyCommand& command) {
  auto* in_array = reinterpret_cast<std::byte*>(command.array->address + command.array_offset);
  std::byte* in_arena = command.arena->memory.bytes().data() + command.arena_offset;
  const bool is_in = command.direction == CopyDirection::In;
  std::memcpy(is_in ? in_array : in_arena, is_in ? in_arena : in_array, command.bytes);
}

HostCopier::~HostCopier() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HostCopier::copy(CopyCommand&& command, std::int64_t started) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(command), started});
  }
  changed_.notify_all();
}

void HostCopier::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
    if (closing_) return;
    QueuedCopy next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    copy_in_host_memory(next.command);
    next.command.reply.complete({.started = next.started});
    lock.lock();
  }
}

}  // namespace gpushare::daemon
