// SPDX-License-Identifier: Apache-2.0
#include "client/arenas.hpp"

#include <algorithm>
#include <bit>

#include "client/link.hpp"

namespace gpushare::client {

constexpr std::size_t least_arena_bytes = 1 << 20;

daemon::SharedMemory shared_memory(std::size_t bytes) {
  try {
    return daemon::SharedMemory::create("gpushare", std::max<std::size_t>(bytes, 1));
  } catch (const std::system_error& error) {
    throw Error("no " + std::to_string(bytes) + " bytes of shared memory: " + error.what());
  }
}

Arena shared_arena(Link& link, std::size_t bytes) {
  auto memory = shared_memory(bytes);
  const Handle number = link.request_handle("arena", {{"bytes", memory.bytes().size()}}, memory.descriptor());
  return {.memory = std::move(memory), .number = number};
}

void drop_arena(Link& link, const Arena& arena) noexcept { link.tell("drop_arena", {{"arena", arena.number}}); }

std::unique_ptr<Arena> ArenaPool::idle_arena(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto fits = [&](const auto& arena) { return arena->memory.bytes().size() >= bytes; };
  const auto found = std::ranges::find_if(idle_, fits);
  if (found == idle_.end()) return nullptr;
  auto arena = std::move(*found);
  idle_.erase(found);
  return arena;
}

std::unique_ptr<Arena> ArenaPool::take(Link& link, std::size_t bytes) {
  if (auto arena = idle_arena(bytes)) return arena;
  return std::make_unique<Arena>(shared_arena(link, std::max(std::bit_ceil(bytes), least_arena_bytes)));
}

void ArenaPool::give_back(Link& link, std::unique_ptr<Arena> arena) noexcept {
  std::unique_lock lock(mutex_);
  idle_.push_back(std::move(arena));
  if (idle_.size() <= most_idle) return;
  const auto surplus = std::move(idle_.front());
  idle_.pop_front();
  lock.unlock();
  drop_arena(link, *surplus);
}

}  // namespace gpushare::client
