// SPDX-License-Identifier: Apache-2.0
// One grid whose blocks are executed on several devices: workers on each claim them from one counter. What a device has
// of it is a part, which is a launch like any other to that device's scheduler. A part ends when no block is left to
// claim and its own workers have gone, or when it is told to leave; others can be added at any time. So a grid is
// spread by several parts, and moved by a new part and an end of the old one. It is over when all its blocks have
// ended.
#pragma once

#include <atomic>
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

  /// Is it over within this time, or lost?
  bool wait(Duration timeout) const;
  /// The part that was lost.
  std::optional<std::size_t> lost_part() const;
  /// Called when it is over or lost, or at once.
  void when_ended(Ended ended);

 private:
  friend class GridPart;
  struct PartState {
    std::size_t number = 0;
    std::atomic<bool> must_leave = false;
    bool has_ended = false;
    std::int64_t done = 0;       // when its device last had none of its workers
    std::function<void()> wake;  // its device
  };

  void begin(PartState& part, std::function<void()> wake);
  void exhaust();
  void returned(PartState& part, std::int64_t done);
  void end(PartState& part);
  void drop(PartState& part);
  int parts_at_work() const;
  void tell_all(std::unique_lock<std::mutex> lock, const std::string& failure);
  bool has_ended() const { return is_over_ || lost_.has_value(); }
  void wake_devices() const;

  const std::int64_t blocks_;
  const std::uint64_t claims_;
  const std::shared_ptr<const void> memory_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::function<void()> opened_;  // none: it is open
  std::atomic<bool> is_exhausted_ = false;
  bool is_over_ = false;
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
