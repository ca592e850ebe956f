// SPDX-License-Identifier: Apache-2.0
// The memory that a host and the workers of one launch share. The transformed PTX uses these layouts by offset; a test
// compares both.
#pragma once

#include <cstdint>
#include <span>

namespace gpushare {

/// One per launch, in device memory.
struct WorkerControl {
  /// The first unclaimed task; may exceed the total. Of a part of a grid (Reach::SeveralDevices): how many tasks the
  /// workers of this device have claimed, and `none_left` once one of them has found none.
  std::uint32_t next_task = 0;
  std::uint32_t workers_gone = 0;  ///< of all that were ever launched, modulo 2^32
};
static_assert(sizeof(WorkerControl) == 8);
constexpr std::uint32_t none_left = std::uint32_t{1} << 31;

/// The host's order to the workers on an SM, in one word: they read both with one load. One per SM and launch, side by
/// side: a short stretch of memory is written faster than a column of a table (7 us sooner for 132 SMs).
struct WorkerOrder {
  std::uint16_t quota = 0;  ///< how many workers may stay
  std::uint16_t chunk = 1;  ///< most tasks that a worker claims at a time
};
static_assert(sizeof(WorkerOrder) == 4);

/// One per SM and launch, in device memory.
struct WorkerSm {
  std::uint32_t workers = 0;  ///< how many there are
  std::uint32_t unused = 0;
  std::uint32_t tasks_done = 0;
  std::uint32_t chunks_done = 0;
  std::uint64_t busy_ns = 0;  ///< worker time spent on the tasks done, summed over the SM's workers
};
static_assert(sizeof(WorkerSm) == 24);

/// All of one launch, as the host has read it.
struct PolledTables {
  WorkerControl control;
  std::span<const WorkerOrder> orders;  ///< by SM
  std::span<const WorkerSm> sms;
};

/// Division by a number known beforehand: n / d = (n * multiplier) >> shift for every n < 2^31.
struct FastDivisor {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = 0;
  std::uint32_t shift = 0;

  static constexpr FastDivisor of(std::uint32_t divisor) {
    std::uint32_t bits = 0;
    while ((std::uint64_t{1} << bits) < divisor) ++bits;
    const std::uint64_t power = std::uint64_t{1} << (31 + bits);
    return {divisor, static_cast<std::uint32_t>((power + divisor - 1) / divisor), 31 + bits};
  }
  constexpr std::uint32_t divide(std::uint32_t value) const {
    return static_cast<std::uint32_t>((std::uint64_t{value} * multiplier) >> shift);
  }
};

/// The parameter of a worker's entry behind the kernel's parameters, by value.
struct WorkerParameters {
  std::uint64_t control = 0;   ///< address of the WorkerControl
  std::uint64_t sm_table = 0;  ///< address of one WorkerSm per SM
  std::uint32_t tasks = 0;     ///< thread blocks in the logical grid, below 2^31
  std::uint32_t guide = 0;     ///< a claim takes at most (tasks left >> guide), so that chunks shrink towards the end
  FastDivisor grid_x;          ///< gridDim.x
  FastDivisor grid_y;          ///< gridDim.y
  std::uint32_t grid_z = 1;    ///< gridDim.z
  std::uint32_t unused = 0;
  std::uint64_t orders = 0;  ///< address of one WorkerOrder per SM, written by the host at any time
  std::uint64_t claims = 0;  ///< Reach::SeveralDevices: address of the counter, which then is not in the control
};
static_assert(sizeof(WorkerParameters) == 72);

}  // namespace gpushare
