// SPDX-License-Identifier: Apache-2.0
// A resident block: its threads and warps, shared memory and barriers, and which threads can run.
#pragma once

#include <array>
#include <bit>
#include <string>
#include <vector>

#include "ptx_interpreter/barrier.hpp"
#include "ptx_interpreter/global_memory.hpp"
#include "ptx_interpreter/program.hpp"
#include "ptx_interpreter/thread.hpp"

namespace gpushare::interpreter {

struct Dimensions {
  std::uint32_t x = 1, y = 1, z = 1;
  std::size_t count() const { return static_cast<std::size_t>(x) * y * z; }
};

struct Grid {
  Dimensions blocks;
  Dimensions threads;
  std::size_t dynamic_shared_bytes = 0;
};

/// What all blocks of a launch share.
struct Launch {
  const Program& program;
  const FunctionCode& entry;
  Grid grid;
  GlobalMemory& memory;
  Devices device = all_devices;  ///< the one that runs it: what of the memory it may access
  std::vector<std::byte> parameters;
  std::uint32_t sms = 1;
  bool strict_barriers = true;
  std::uint64_t instructions = 0;              ///< executed so far
  const std::uint64_t* nanoseconds = nullptr;  ///< what the clocks show; null: one per instruction

  std::uint64_t clock() const { return nanoseconds != nullptr ? *nanoseconds : instructions; }
};

constexpr std::uint32_t warp_size = 32;

struct Warp {
  Block* block = nullptr;
  std::uint32_t first = 0;        ///< thread of lane 0
  std::uint32_t lanes = 0;        ///< those that exist
  std::uint32_t live = 0;         ///< those that have not exited
  std::uint32_t waited_runs = 0;  ///< how often other lanes ran since one came to activemask; 0: none is there

  Thread& lane(std::uint32_t lane) const;
  /// The lanes for which this holds.
  template <class Condition>
  std::uint32_t lanes_where(Condition condition) const {
    std::uint32_t found = 0;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
      const auto each = static_cast<std::uint32_t>(std::countr_zero(left));
      if (condition(lane(each))) found |= 1u << each;
    }
    return found;
  }
};

struct Block {
  Block(Launch& owner, std::size_t linear_index, std::uint32_t on_sm, std::uint64_t poison);
  Block(const Block&) = delete;  // threads and warps point here
  Block& operator=(const Block&) = delete;

  /// Takes note of what a thread that ran came to, and lets those run that waited for it.
  void settle(Thread& thread);
  /// Lets a thread run that waited.
  void wake(Thread& thread);
  Warp& warp_of(const Thread& thread) { return warps[thread.index / warp_size]; }
  std::string describe() const;
  std::string describe_waiting() const;

  Launch& launch;
  std::size_t linear = 0;
  std::array<std::uint32_t, 3> position{};
  std::uint32_t sm = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<std::byte> shared;
  std::array<Barrier, 16> barriers;
  std::vector<std::uint32_t> runnable;  ///< threads, in no particular order
  std::size_t exited = 0;

 private:
  void remove_from_runnable(const Thread& thread);
  std::vector<std::uint32_t> place_in_runnable_;
};

}  // namespace gpushare::interpreter
