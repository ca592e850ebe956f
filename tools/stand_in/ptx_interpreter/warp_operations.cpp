// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/warp_operations.hpp"

#include "ptx_interpreter/block.hpp"

namespace gpushare::interpreter {
namespace {

constexpr std::uint32_t patience_runs = 2000;

std::uint32_t lanes_with(const Warp& warp, Status status) {
  return warp.lanes_where([status](const Thread& thread) { return thread.status == status; });
}

bool meet(const Thread& left, const Thread& right) {
  const Operation &one = left.current(), &other = right.current();
  const bool both_barriers = one.collective == &leave_warp_barrier && other.collective == &leave_warp_barrier;
  return left.wait_mask == right.wait_mask && (both_barriers || &one == &other);
}

void wake_all(Warp& warp, std::uint32_t lanes) {
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    warp.block->wake(warp.lane(static_cast<std::uint32_t>(std::countr_zero(left))));
  }
}

/// Finishes the operation at which this lane waits, if no lane is missing.
bool finish(Warp& warp, std::uint32_t lane, std::uint32_t waiting) {
  const Thread& thread = warp.lane(lane);
  const std::uint32_t wanted = thread.wait_mask & warp.live;
  if ((wanted & ~waiting) != 0) return false;
  const std::uint32_t there = warp.lanes_where(
      [&](const Thread& each) { return each.status == Status::AtWarpOperation && meet(thread, each); });
  if ((wanted & ~there) != 0) return false;
  const Operation& operation = thread.current();
  operation.collective(warp, there, operation);
  wake_all(warp, there);
  return true;
}

}  // namespace

void leave_warp_barrier(Warp&, std::uint32_t, const Operation&) {}

void wait_for_lanes(Thread& thread, const Operation& operation) {
  thread.wait_mask = thread.read<std::uint32_t>(operation.slot[mask_slot]);
  if ((thread.wait_mask >> thread.lane & 1) == 0) fail(thread, "the mask does not contain the lane itself");
  thread.status = Status::AtWarpOperation;
}

void wait_for_active_lanes(Thread& thread, const Operation&) {
  thread.status = Status::AtActiveMask;
  thread.block->warp_of(thread).waited_runs |= 1;
}

void finish_complete_warp_operations(Warp& warp) {
  const std::uint32_t waiting = lanes_with(warp, Status::AtWarpOperation);
  for (std::uint32_t left = waiting; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(left));
    if (warp.lane(lane).status == Status::AtWarpOperation) finish(warp, lane, waiting);
  }
  if (warp.waited_runs != 0) gather_active_lanes(warp);
}

void gather_active_lanes(Warp& warp) {
  if (lanes_with(warp, Status::Runnable) != 0 && ++warp.waited_runs < patience_runs) return;
  const std::uint32_t there = lanes_with(warp, Status::AtActiveMask);
  if (there == 0) return;
  const Operation& operation = warp.lane(static_cast<std::uint32_t>(std::countr_zero(there))).current();
  const std::uint32_t together = warp.lanes_where(
      [&](const Thread& each) { return each.status == Status::AtActiveMask && &each.current() == &operation; });
  for (std::uint32_t left = together; left != 0; left &= left - 1) {
    warp.lane(static_cast<std::uint32_t>(std::countr_zero(left))).write<std::uint32_t>(operation.slot[0], together);
  }
  wake_all(warp, together);
  warp.waited_runs = there == together ? 0 : 1;
}

}  // namespace gpushare::interpreter
