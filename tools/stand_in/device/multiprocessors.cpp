// SPDX-License-Identifier: Apache-2.0
#include "device/multiprocessors.hpp"

#include <algorithm>

#include "ptx_interpreter/fault.hpp"

namespace gpushare::stand_in {

void Multiprocessors::add(std::shared_ptr<Grid> grid) {
  const auto behind =
      std::ranges::upper_bound(waiting_, grid->priority, {}, [](const auto& each) { return each->priority; });
  waiting_.insert(behind, std::move(grid));
}

bool Multiprocessors::place() {
  SmMask taken;  // by grids before it
  for (auto grid = waiting_.begin(); grid != waiting_.end(); ++grid) {
    if (((*grid)->sms & taken).none() && place_block_of(*grid)) {
      if ((*grid)->is_placed()) waiting_.erase(grid);
      return true;
    }
    taken |= (*grid)->sms;
  }
  return false;
}

bool Multiprocessors::place_block_of(const std::shared_ptr<Grid>& waiting) {
  Grid& grid = *waiting;
  // The emptiest SM, the first of several: one block on each, then the second one.
  const auto threads_on = [&](const Occupied& each) {
    const auto sm = static_cast<std::size_t>(&each - sms_.data());
    return grid.sms[sm] && each.has_room_for(grid.block) ? each.sum.threads : Limits::threads_per_sm + 1;
  };
  const auto sm = std::ranges::min_element(sms_, {}, threads_on);
  if (threads_on(*sm) > Limits::threads_per_sm) return false;
  sm->add(grid.block, 1);
  const auto index = static_cast<std::uint32_t>(sm - sms_.begin());
  resident_.push_back(
      {waiting, std::make_unique<interpreter::Block>(grid.launch, grid.placed, index, random_.poison())});
  ++grid.placed;
  return true;
}

bool Multiprocessors::has_room_for(const Footprint& block) const {
  return std::ranges::any_of(sms_, [&](const Occupied& each) { return each.has_room_for(block); });
}

std::vector<std::shared_ptr<const Grid>> Multiprocessors::grids() const {
  std::vector<std::shared_ptr<const Grid>> all(waiting_.begin(), waiting_.end());
  for (const Resident& each : resident_) all.push_back(each.grid);
  return all;
}

bool Multiprocessors::run_some() {
  next_ = (next_ + 1) % resident_.size();
  const Resident& resident = resident_[next_];
  interpreter::Block& block = *resident.block;
  if (block.runnable.empty())
    throw interpreter::Deadlock(block.describe() + ": no thread can run:" + block.describe_waiting());
  interpreter::Thread& thread = block.threads[block.runnable[random_.pick_thread(block.runnable.size())]];
  block.launch.instructions += run_thread(thread, random_.instructions());
  block.settle(thread);
  if (block.exited < block.threads.size()) return false;
  sms_[block.sm].add(resident.grid->block, -1);
  ++resident.grid->ended;
  resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(next_));
  return true;
}

}  // namespace gpushare::stand_in
