// SPDX-License-Identifier: Apache-2.0
// Memory that this process and the worker map. Arenas for pieces of copies are used again, so each is pinned once.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <semaphore>

#include "daemon/channel/handle_table.hpp"
#include "daemon/channel/shared_memory.hpp"

namespace gpushare::client {

class Link;

struct Arena {
  daemon::SharedMemory memory;
  daemon::Handle number = 0;  ///< by which the worker knows it
};

/// Room for at least so many bytes. Throws Error where the system has none.
daemon::SharedMemory shared_memory(std::size_t bytes);
/// Makes one and sends it to the worker.
Arena shared_arena(Link& link, std::size_t bytes);
/// Tells the worker that it is not needed any more.
void drop_arena(Link& link, const Arena& arena) noexcept;

/// The arenas for pieces.
class ArenaPool {
 public:
  static constexpr std::size_t piece_bytes = 1 << 24;
  static constexpr std::ptrdiff_t most_copies = 16;

  /// To be held during a copy in pieces, which may take two arenas: the server limits their number.
  std::counting_semaphore<most_copies>& copies() { return copies_; }
  /// An arena for at most `piece_bytes`.
  std::unique_ptr<Arena> take(Link& link, std::size_t bytes);
  void give_back(Link& link, std::unique_ptr<Arena> arena) noexcept;

 private:
  static constexpr std::size_t most_idle = 4;

  std::unique_ptr<Arena> idle_arena(std::size_t bytes);

  std::counting_semaphore<most_copies> copies_{most_copies};
  std::mutex mutex_;
  std::deque<std::unique_ptr<Arena>> idle_;
};

}  // namespace gpushare::client
