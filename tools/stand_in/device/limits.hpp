// SPDX-License-Identifier: Apache-2.0
// What each device is: so small that tests fill it, with limits per SM as of an H100 but for the blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace gpushare::stand_in {

/// GPUSHARE_STAND_IN_SMS, for tests of what shows only where there are many; whole groups.
inline int sms_asked_for(int otherwise, int most) {
  const char* text = std::getenv("GPUSHARE_STAND_IN_SMS");
  return text != nullptr ? std::clamp(std::atoi(text) / 2 * 2, 2, most) : otherwise;
}

/// GPUSHARE_STAND_IN_DEVICES, of one kind.
inline int devices_asked_for(int most) {
  const char* text = std::getenv("GPUSHARE_STAND_IN_DEVICES");
  return text != nullptr ? std::clamp(std::atoi(text), 1, most) : 1;
}

/// Devices have peer access, unless GPUSHARE_STAND_IN_PEERS is 0.
inline bool are_peers() {
  const char* text = std::getenv("GPUSHARE_STAND_IN_PEERS");
  return text == nullptr || std::string_view(text) != "0";
}

struct Limits {
  static constexpr int most_devices = 8;
  static constexpr std::string_view name = "gpushare stand-in";
  static constexpr int most_sms = 132;  ///< as an H100
  inline static const int sms = sms_asked_for(4, most_sms);
  static constexpr int sms_per_group = 2;  ///< that a green context has or has not
  static constexpr int blocks_per_sm = 4;
  static constexpr int threads_per_sm = 2048;
  static constexpr int threads_per_block = 1024;
  static constexpr int warp = 32;
  static constexpr int registers_per_sm = 65'536;
  static constexpr int registers_at_a_time = 256;  ///< of a warp
  static constexpr int shared_per_sm = 233'472;
  static constexpr int shared_per_block = 232'448;  ///< where the kernel has been allowed more than the usual
  static constexpr int usual_shared_per_block = 49'152;
  static constexpr int reserved_shared = 1024;  ///< per block, on top of its own
  static constexpr int shared_at_a_time = 128;
  static constexpr int capability = 90;
  static constexpr int clock_khz = 1'000'000;
  static constexpr std::size_t memory = std::size_t{1} << 30;  ///< of each device
  static constexpr int most_urgent_priority = -5;
  static constexpr int queues = 32;  ///< for the streams of a context: CUDA_DEVICE_MAX_CONNECTIONS
};

/// What has not been written: a NaN, a negative number.
inline constexpr auto poison = std::byte{0xff};

/// What a block takes of an SM.
struct Footprint {
  int threads = 0;
  int registers = 0;
  int shared_bytes = 0;
};

/// Rounded up as the hardware hands them out.
constexpr Footprint footprint(int threads, int registers_per_thread, int shared_bytes) {
  const auto up = [](int value, int unit) { return (value + unit - 1) / unit * unit; };
  const int warps = (threads + Limits::warp - 1) / Limits::warp;
  return {.threads = warps * Limits::warp,
          .registers = warps * up(registers_per_thread * Limits::warp, Limits::registers_at_a_time),
          .shared_bytes = up(shared_bytes + Limits::reserved_shared, Limits::shared_at_a_time)};
}

/// What is taken of an SM.
struct Occupied {
  int blocks = 0;
  Footprint sum;

  constexpr bool has_room_for(const Footprint& block) const {
    return blocks < Limits::blocks_per_sm && sum.threads + block.threads <= Limits::threads_per_sm &&
           sum.registers + block.registers <= Limits::registers_per_sm &&
           sum.shared_bytes + block.shared_bytes <= Limits::shared_per_sm;
  }
  /// Once more, or with sign -1 once less.
  constexpr void add(const Footprint& block, int sign) {
    blocks += sign;
    sum.threads += sign * block.threads;
    sum.registers += sign * block.registers;
    sum.shared_bytes += sign * block.shared_bytes;
  }
};

/// How many such blocks an SM holds.
constexpr int occupancy(const Footprint& block) {
  Occupied sm;
  while (sm.has_room_for(block)) sm.add(block, 1);
  return sm.blocks;
}

}  // namespace gpushare::stand_in
