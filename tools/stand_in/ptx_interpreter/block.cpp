// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/block.hpp"

#include <numeric>

#include "ptx_interpreter/fault.hpp"
#include "ptx_interpreter/warp_operations.hpp"

namespace gpushare::interpreter {
namespace {

std::array<std::uint32_t, 3> unravel(std::size_t linear, Dimensions dimensions) {
  const std::size_t row = linear / dimensions.x;
  return {static_cast<std::uint32_t>(linear % dimensions.x), static_cast<std::uint32_t>(row % dimensions.y),
          static_cast<std::uint32_t>(row / dimensions.y)};
}

std::string text(const std::array<std::uint32_t, 3>& position) {
  return "(" + std::to_string(position[0]) + "," + std::to_string(position[1]) + "," + std::to_string(position[2]) +
         ")";
}

void fill_with_poison(std::vector<std::byte>& bytes, std::uint64_t seed) {
  for (std::byte& each : bytes) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    each = static_cast<std::byte>(seed >> 56);
  }
}

}  // namespace

Thread& Warp::lane(std::uint32_t lane) const { return block->threads[first + lane]; }

Block::Block(Launch& owner, std::size_t linear_index, std::uint32_t on_sm, std::uint64_t poison)
    : launch(owner), linear(linear_index), position(unravel(linear_index, owner.grid.blocks)), sm(on_sm) {
  const std::size_t count = launch.grid.threads.count();
  shared.resize(launch.entry.static_shared_bytes + launch.grid.dynamic_shared_bytes);
  fill_with_poison(shared, poison);
  threads.resize(count);
  for (std::uint32_t index = 0; index < count; ++index) {
    Thread& thread = threads[index];
    thread.block = this;
    thread.index = index;
    thread.lane = index % warp_size;
    thread.position = unravel(index, launch.grid.threads);
    push_frame(thread, launch.entry, 0);
    if (thread.lane == 0) warps.push_back({.block = this, .first = index});
    warps.back().lanes |= 1u << thread.lane;
    warps.back().live = warps.back().lanes;
  }
  runnable.resize(count);
  std::iota(runnable.begin(), runnable.end(), 0u);
  place_in_runnable_ = runnable;
}

void Block::remove_from_runnable(const Thread& thread) {
  const std::uint32_t place = place_in_runnable_[thread.index];
  const std::uint32_t last = runnable.back();
  runnable[place] = last;
  place_in_runnable_[last] = place;
  runnable.pop_back();
}

void Block::wake(Thread& thread) {
  thread.status = Status::Runnable;
  place_in_runnable_[thread.index] = static_cast<std::uint32_t>(runnable.size());
  runnable.push_back(thread.index);
}

void Block::settle(Thread& thread) {
  Warp& warp = warp_of(thread);
  const bool runs_on = thread.status == Status::Runnable && !thread.yields;
  if (runs_on) {
    if (warp.waited_runs != 0) gather_active_lanes(warp);
    return;
  }
  thread.yields = false;
  if (thread.status != Status::Runnable) remove_from_runnable(thread);
  if (thread.exited()) {
    ++exited;
    warp.live &= ~(1u << thread.lane);
  }
  open_complete_barriers(*this);
  finish_complete_warp_operations(warp);
}

std::string Block::describe() const { return "kernel '" + launch.entry.name + "' block " + text(position); }

std::string Block::describe_waiting() const {
  std::string list;
  for (const Thread& thread : threads) {
    if (thread.exited()) continue;
    const std::uint32_t line =
        thread.status == Status::Runnable ? thread.code[thread.next].line : thread.current().line;
    list += "\n  thread " + text(thread.position) + ": PTX line " + std::to_string(line) + ": " +
            launch.program.source_line(line);
  }
  return list + (exited != 0 ? "\n  " + std::to_string(exited) + " threads have exited" : "");
}

std::size_t run_thread(Thread& thread, std::size_t instructions) {
  std::size_t done = 0;
  while (done < instructions && thread.status == Status::Runnable && !thread.yields) {
    const Operation& operation = thread.code[thread.next++];
    ++done;
    if (operation.guard != no_slot && thread.read<bool>(operation.guard) == operation.negated) continue;
    operation.handler(thread, operation);
  }
  return done;
}

std::string describe(const Thread& thread, const std::string& what) {
  const std::uint32_t line = thread.current().line;
  const Block& block = *thread.block;
  return block.describe() + " thread " + text(thread.position) + ", PTX line " + std::to_string(line) + " `" +
         block.launch.program.source_line(line) + "`: " + what;
}

void fail(const Thread& thread, const std::string& what) { throw Fault(describe(thread, what)); }

}  // namespace gpushare::interpreter
