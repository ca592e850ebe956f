// SPDX-License-Identifier: Apache-2.0
#include "client/device_copies.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>

namespace gpushare::client {
namespace {

constexpr std::size_t most_in_flight = 2;

/// The pieces of one copy that are under way. Arenas go back to the pool when the worker does not use them any more.
class PiecesInFlight {
 public:
  explicit PiecesInFlight(Link& link) : link_(link) { link_.arenas().copies().acquire(); }
  PiecesInFlight(const PiecesInFlight&) = delete;
  PiecesInFlight& operator=(const PiecesInFlight&) = delete;
  ~PiecesInFlight() {
    for (Piece& each : pieces_) {
      each.answer.wait();
      link_.arenas().give_back(link_, std::move(each.arena));
    }
    link_.arenas().copies().release();
  }

  std::unique_ptr<Arena> next_arena(std::size_t bytes) {
    return pieces_.size() < most_in_flight ? link_.arenas().take(link_, bytes) : end_first();
  }
  /// `at_end` is called once the worker has done its part.
  void add(std::unique_ptr<Arena> arena, Answer answer, std::function<void(const Arena&)> at_end) {
    pieces_.push_back({std::move(arena), std::move(answer), std::move(at_end)});
  }
  void finish() {
    while (!pieces_.empty()) link_.arenas().give_back(link_, end_first());
  }

 private:
  struct Piece {
    std::unique_ptr<Arena> arena;
    Answer answer;
    std::function<void(const Arena&)> at_end;
  };

  std::unique_ptr<Arena> end_first() {
    pieces_.front().answer.get();
    Piece first = std::move(pieces_.front());
    pieces_.pop_front();
    first.at_end(*first.arena);
    return std::move(first.arena);
  }

  Link& link_;
  std::deque<Piece> pieces_;
};

}  // namespace

Answer begin_copy(Link& link, const char* verb, DevicePart part, const Arena& arena, std::uint64_t arena_offset,
                  std::uint64_t bytes) {
  return link.begin(verb, {{"array", part.array},
                           {"array_offset", part.offset},
                           {"arena", arena.number},
                           {"arena_offset", arena_offset},
                           {"bytes", bytes}});
}

void copy_to_device(Link& link, DevicePart to, std::span<const std::byte> from) {
  PiecesInFlight pieces(link);
  while (!from.empty()) {
    const auto piece = from.first(std::min(from.size(), ArenaPool::piece_bytes));
    auto arena = pieces.next_arena(piece.size());
    std::memcpy(arena->memory.bytes().data(), piece.data(), piece.size());
    const Answer answer = begin_copy(link, "write", to, *arena, 0, piece.size());
    pieces.add(std::move(arena), answer, [](const Arena&) {});
    from = from.subspan(piece.size());
    to.offset += piece.size();
  }
  pieces.finish();
}

void copy_to_host(Link& link, DevicePart from, std::span<std::byte> to) {
  PiecesInFlight pieces(link);
  while (!to.empty()) {
    const auto piece = to.first(std::min(to.size(), ArenaPool::piece_bytes));
    auto arena = pieces.next_arena(piece.size());
    const Answer answer = begin_copy(link, "read", from, *arena, 0, piece.size());
    pieces.add(std::move(arena), answer,
               [piece](const Arena& done) { std::memcpy(piece.data(), done.memory.bytes().data(), piece.size()); });
    to = to.subspan(piece.size());
    from.offset += piece.size();
  }
  pieces.finish();
}

}  // namespace gpushare::client
