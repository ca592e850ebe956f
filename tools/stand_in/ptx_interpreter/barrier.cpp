// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/barrier.hpp"

#include <string>

#include "ptx_interpreter/block.hpp"

namespace gpushare::interpreter {
namespace {

BarrierKind kind_of(const Operation& operation) { return static_cast<BarrierKind>(operation.mode); }
bool reduces(BarrierKind kind) { return kind >= BarrierKind::ReducePopulation; }

std::uint32_t gone(const Warp& warp) { return ~warp.live; }

/// Lanes of this warp that a barrier for all threads still waits for.
std::uint32_t missing(const Barrier& barrier, const Block& block, std::size_t warp) {
  return block.warps[warp].live & ~barrier.arrived[warp];
}

bool is_complete(const Barrier& barrier, const Block& block) {
  std::uint32_t arrived = 0;
  for (std::size_t warp = 0; warp < block.warps.size(); ++warp) {
    if (barrier.count == 0 && missing(barrier, block, warp) != 0) return false;
    const std::uint32_t lanes = barrier.arrived[warp];
    const bool whole = lanes != 0 && (lanes | gone(block.warps[warp])) == ~0u;
    arrived += whole ? warp_size : static_cast<std::uint32_t>(std::popcount(lanes));
  }
  return barrier.count == 0 ? !barrier.waiting.empty() : arrived >= barrier.count;
}

/// PTX: with .aligned, all threads of the warp execute the same barrier instruction.
void check_aligned(const Barrier& barrier, const Block& block) {
  for (const std::uint32_t index : barrier.waiting) {
    const Thread& thread = block.threads[index];
    if (!thread.current().aligned || !block.launch.strict_barriers) continue;
    const Warp& warp = block.warps[index / warp_size];
    const std::uint32_t together = warp.lanes_where(
        [&](const Thread& each) { return each.status == Status::AtBarrier && &each.current() == &thread.current(); });
    if (together != warp.live) fail(thread, "an aligned barrier in a diverged warp");
  }
}

void open(Barrier& barrier, Block& block) {
  check_aligned(barrier, block);
  const auto participants = static_cast<std::uint32_t>(barrier.waiting.size());
  for (const std::uint32_t index : barrier.waiting) {
    Thread& thread = block.threads[index];
    const Operation& operation = thread.current();
    switch (kind_of(operation)) {
      case BarrierKind::ReducePopulation:
        thread.write<std::uint32_t>(operation.slot[0], barrier.trues);
        break;
      case BarrierKind::ReduceAnd:
        thread.write<bool>(operation.slot[0], barrier.trues == participants);
        break;
      case BarrierKind::ReduceOr:
        thread.write<bool>(operation.slot[0], barrier.trues != 0);
        break;
      default:
        break;
    }
    block.wake(thread);
  }
  barrier.waiting.clear();
  barrier.arrived.assign(block.warps.size(), 0);
  barrier.trues = 0;
  barrier.in_use = false;
}

std::uint32_t wanted_count(const Thread& thread, const Operation& operation) {
  if (operation.slot[2] == no_slot) return 0;
  const auto count = thread.read<std::uint32_t>(operation.slot[2]);
  if (count == 0 || count % warp_size != 0) {
    fail(thread, "a barrier for " + std::to_string(count) + " threads; it takes a multiple of the warp size");
  }
  return count;
}

}  // namespace

void arrive(Thread& thread, const Operation& operation) {
  Block& block = *thread.block;
  const auto id = thread.read<std::uint32_t>(operation.slot[1]);
  if (id >= block.barriers.size()) fail(thread, "there is no barrier " + std::to_string(id));
  Barrier& barrier = block.barriers[id];
  const std::uint32_t count = wanted_count(thread, operation);
  const bool reducing = reduces(kind_of(operation));
  if (barrier.in_use && (barrier.count != count || barrier.reduces != reducing)) {
    fail(thread, "barrier " + std::to_string(id) + " is in use with another count or kind");
  }
  if (barrier.arrived.empty()) barrier.arrived.assign(block.warps.size(), 0);
  std::uint32_t& lanes = barrier.arrived[thread.index / warp_size];
  if ((lanes >> thread.lane & 1) != 0) fail(thread, "arrives twice at barrier " + std::to_string(id));
  lanes |= 1u << thread.lane;
  barrier.count = count;
  barrier.reduces = reducing;
  barrier.in_use = true;
  if (reducing && thread.read<bool>(operation.slot[3])) ++barrier.trues;
  if (kind_of(operation) != BarrierKind::Arrive) {
    thread.status = Status::AtBarrier;
    barrier.waiting.push_back(thread.index);
  } else {
    thread.yields = true;  // so that the block looks whether the barrier is complete now
  }
}

void open_complete_barriers(Block& block) {
  for (Barrier& barrier : block.barriers) {
    if (barrier.in_use && is_complete(barrier, block)) open(barrier, block);
  }
}

}  // namespace gpushare::interpreter
