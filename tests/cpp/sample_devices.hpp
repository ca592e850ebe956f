// SPDX-License-Identifier: Apache-2.0
// The devices that the tests agree on: one to compute by hand, two like real ones, and random ones.
#pragma once

#include <array>
#include <cstdint>
#include <random>

#include "core/model/device.hpp"

namespace gpushare::test {

constexpr Time at(std::int64_t nanoseconds) { return Time(Duration(nanoseconds)); }

/// Nothing takes time but blocks and bytes (one byte, one nanosecond), so schedules can be computed by hand.
inline Device small_device(int sms = 1) {
  return {.name = "small",
          .sms = sms,
          .clock_hz = 1e9,
          .per_sm = {.threads = 256, .warps = 8, .blocks = 4, .registers = 16384, .shared_memory = Bytes{16384}},
          .to_device = {.bandwidth = {1e9}},
          .to_host = {.bandwidth = {1e9}}};
}

/// The simulator configuration of SRTF, Table 4.
inline Device gtx480_like() {
  return {.name = "gtx480-like",
          .sms = 15,
          .clock_hz = 7e8,
          .per_sm = {.threads = 1536, .warps = 48, .blocks = 8, .registers = 32768, .shared_memory = Bytes{48 * 1024}},
          .granularity = {.registers_per_warp = 64, .warps = 2},
          .to_device = {.bandwidth = {6e9}},
          .to_host = {.bandwidth = {6e9}}};
}

/// Compute capability 9.0, as the CUDA occupancy calculator knows it.
inline Device h100_like() {
  return {
      .name = "h100-like",
      .sms = 132,
      .clock_hz = 1.98e9,
      .per_sm = {.threads = 2048, .warps = 64, .blocks = 32, .registers = 65536, .shared_memory = Bytes{228 * 1024}},
      .granularity = {.registers_per_warp = 256, .warps = 4, .reserved_shared_memory = Bytes{1024}},
      .off_sm = {.llc = {5.5e12}, .dram = {3.35e12}},
      .to_device = {.latency = Duration(2000), .bandwidth = {55e9}},
      .to_host = {.latency = Duration(2000), .bandwidth = {55e9}}};
}

/// Seeded choices; the same seed makes the same choices.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_(seed) {}
  int between(int low, int high) { return low + static_cast<int>(bits_() % static_cast<unsigned>(high - low + 1)); }
  double ratio() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  bool once_in(int times) { return between(1, times) == 1; }

 private:
  std::mt19937_64 bits_;
};

/// Few SMs, so that small workloads fill them; with limited off-SM bandwidth, delays near it, and issue by age
/// every other time each.
inline Device random_device(Dice& dice) {
  const std::array models{small_device(), gtx480_like(), h100_like()};
  Device device = models[static_cast<std::size_t>(dice.between(0, 2))];
  device.sms = dice.between(1, 6);
  device.off_sm = {};
  if (dice.once_in(2)) device.off_sm.llc = {dice.between(1, 50) * 1e9};
  if (dice.once_in(2)) device.off_sm.dram = {dice.between(1, 20) * 1e9};
  if (dice.once_in(2)) device.off_sm.delay = {.linear = 0.45, .saturating = 0.25};
  if (dice.once_in(2)) device.per_sm.issue_order = IssueOrder::OldestFirst;
  return device;
}

inline CommandDelays random_delays(Dice& dice) {
  return {.launch = Duration(dice.between(0, 500)),
          .signal = Duration(dice.between(0, 200)),
          .relaunch = Duration(dice.between(0, 900)),
          .block_dispatch = Duration(dice.between(0, 30))};
}

}  // namespace gpushare::test
