// SPDX-License-Identifier: Apache-2.0
// The SMs of a device: which block gets a place on which, and the resident blocks, of which one at a time runs some
// instructions of one thread.
//
// A grid that has begun to be placed is not overtaken by one that is no more urgent: if its next block fits nowhere,
// those behind it wait too, also if theirs would fit, unless they have other SMs. Real hardware is at most as strict.
#pragma once

#include <memory>
#include <vector>

#include "device/grid.hpp"
#include "ptx_interpreter/scheduler.hpp"

namespace gpushare::stand_in {

class Multiprocessors {
 public:
  explicit Multiprocessors(std::uint64_t seed) : random_(seed) {}

  void add(std::shared_ptr<Grid> grid);
  /// Gives one block a place; false where there is none, or no block without one.
  bool place();
  /// Has an SM room for a block of this kind?
  bool has_room_for(const Footprint& block) const;
  /// Some instructions of some thread. Requires that there is a resident block. Throws Fault. True if a block ended.
  bool run_some();
  bool empty() const { return resident_.empty(); }
  /// All that have blocks there, or wait for room.
  std::vector<std::shared_ptr<const Grid>> grids() const;

 private:
  bool place_block_of(const std::shared_ptr<Grid>& waiting);

  struct Resident {
    std::shared_ptr<Grid> grid;
    std::unique_ptr<interpreter::Block> block;
  };
  /// Which threads run in which order, and what memory holds that has not been written.
  class Random : public interpreter::Scheduler {
   public:
    using Scheduler::Scheduler;
    std::size_t instructions() { return 1 + random(most_instructions); }
  };
  static constexpr std::size_t most_instructions = 128;

  std::vector<Occupied> sms_{static_cast<std::size_t>(Limits::sms)};
  std::vector<std::shared_ptr<Grid>> waiting_;  // in the order in which they are served
  std::vector<Resident> resident_;
  std::size_t next_ = 0;  // in resident_
  Random random_;
};

}  // namespace gpushare::stand_in
