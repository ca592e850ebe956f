// SPDX-License-Identifier: Apache-2.0
// One grid whose blocks are executed on several devices: workers on each claim them from one counter. What a device has
// of it is a part, which is a launch like any other to that device's scheduler. A part ends when no block is left to
// claim and its own workers have gone, or when it is told to leave; others can be added at any time. So a grid is
// spread by several parts, and moved by a new part and an end of the old one. It is over when all its blocks have
// ended. It never will be where all parts wait in vain: each says so, and once more when it has been woken for the
// others, as something may have come meanwhile that those have not seen.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/model/units.hpp"

namespace gpushare {

class GridPart;

/// How far a device is with its part.
struct PartProgress {
  std::int64_t claimed = 0;  ///< blocks
  int workers = 0;
  int places = 0;         ///< for workers, if no other launch has any
  Duration block_time{};  ///< the mean; zero: no block has ended
};

/// For any thread.
class SharedGrid : public std::enable_shared_from_this<SharedGrid> {
 public:
  /// Why it is not over and never will be; empty: it is.
  using Ended = std::function<void(const std::string& failure)>;

  /// `claims`: address of the counter, of 32 bits, in memory that `memory` keeps and every device accesses. `opened` is
  /// called once, by the first part's device: when it is the grid's turn there.
  SharedGrid(std::int64_t blocks, std::uint64_t claims, std::shared_ptr<const void> memory,
             std::function<void()> opened);

  /// Another part, for a device: the grid is lost with it unless it has ended.
  std::shared_ptr<GridPart> add_part();
  /// The part stops at the next block boundary, and ends.
  void leave(std::size_t part);
  bool is_open() const;
  bool is_over() const;
  /// From its turn to its end; nullopt: it is not over.
  std::optional<Duration> took() const;

  /// Is it over within this time, or lost, with no part left on a device?
  bool wait(Duration timeout) const;
  /// Is it over within this time, or has the part ended?
  bool wait_for_end(std::size_t part, Duration timeout) const;
  /// The part that was lost.
  std::optional<std::size_t> lost_part() const;
  /// Called when wait() would return, or at once.
  void when_ended(Ended ended);

 private:
  friend class GridPart;
  struct PartState {
    std::size_t number = 0;
    std::atomic<bool> must_leave = false;
    bool has_ended = false;
    bool waits_in_vain = false;
    bool has_confirmed = false;  // that it does, since all do
    std::int64_t done = 0;       // when its device last had none of its workers
    PartProgress progress;
    std::function<void()> wake;  // its device

    bool is_at_work() const { return wake && !must_leave && !has_ended; }
  };

  void begin(PartState& part, std::function<void()> wake);
  void exhaust();
  void returned(PartState& part, std::int64_t done);
  void end(PartState& part);
  void drop(PartState& part);
  int parts_at_work() const;
  std::int64_t expected(PartState& part, const PartProgress& progress);
  Duration usual_block_time() const;
  bool wait_in_vain(PartState& part);
  bool is_known_to_wait(const PartState& part) const;
  void go_on(PartState& part);
  void ask_whether_all_wait();
  bool all_wait() const;
  void tell_all(std::unique_lock<std::mutex> lock, const std::string& failure);
  bool has_ended() const { return is_over_ || lost_.has_value(); }
  bool is_settled() const;
  void wake_devices() const;

  const std::int64_t blocks_;
  const std::uint64_t claims_;
  const std::shared_ptr<const void> memory_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::function<void()> opened_;  // none: it is open
  std::atomic<bool> is_exhausted_ = false;
  bool is_over_ = false;
  std::chrono::steady_clock::time_point begin_;  // where it is open
  Duration took_{};                              // where it is over
  bool is_in_vain_ = false;                      // a device has been told
  std::optional<std::size_t> lost_;
  std::deque<PartState> parts_;
  std::vector<Ended> to_tell_;
};

/// A device's part of a grid, for its thread.
class GridPart {
 public:
  GridPart(std::shared_ptr<SharedGrid> grid, SharedGrid::PartState& part) : grid_(std::move(grid)), part_(part) {}
  ~GridPart() { grid_->drop(part_); }
  GridPart(const GridPart&) = delete;
  GridPart& operator=(const GridPart&) = delete;

  std::size_t number() const { return part_.number; }
  std::uint64_t claims() const { return grid_->claims_; }
  /// How many parts claim, with this one.
  int parts_at_work() const { return grid_->parts_at_work(); }
  /// How many blocks are expected to run there, if it gets all places from now on and the others go on as they do.
  std::int64_t expected(const PartProgress& progress) { return grid_->expected(part_, progress); }
  /// Its device has nothing to do before another one ends the grid. True: none will, for all wait for that; one of
  /// them is told.
  bool waits_in_vain() { return grid_->wait_in_vain(part_); }
  /// Has it been said that it waits, and not since that its device has something to do?
  bool is_known_to_wait() const { return grid_->is_known_to_wait(part_); }
  /// Its device has something to do.
  void goes_on() { grid_->go_on(part_); }
  /// It is the part's turn on its device, which `wake` wakes.
  void begin(std::function<void()> wake) { grid_->begin(part_, std::move(wake)); }
  bool must_leave() const { return part_.must_leave.load(std::memory_order_acquire); }
  /// Has a worker of any device found no block to claim?
  bool is_exhausted() const { return grid_->is_exhausted_.load(std::memory_order_acquire); }
  void found_none_left() { grid_->exhaust(); }
  /// None of its workers is on the device, and so many blocks have ended there.
  void returned(std::int64_t done) { grid_->returned(part_, done); }
  void end() { grid_->end(part_); }
  /// Its launch is no more: where that has not ended, the grid is lost with it.
  void drop() { grid_->drop(part_); }

 private:
  std::shared_ptr<SharedGrid> grid_;
  SharedGrid::PartState& part_;
};

}  // namespace gpushare
