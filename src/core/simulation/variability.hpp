// SPDX-License-Identifier: Apache-2.0
// How much work one block has, relative to the kernel's mean. A function of (seed, operation, block) alone: a block
// has the same work under every policy, so that policies are compared on the same grid and not on different luck.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace gpushare {

/// SplitMix64's finalizer: a counter-based generator needs no state.
constexpr std::uint64_t scramble(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// Log-normal work with mean 1: positive and skewed to the right, like the block times of SRTF Fig. 6.
class BlockWork {
 public:
  BlockWork(std::uint64_t seed, std::uint64_t operation, double variation_ratio)
      : key_(scramble(seed ^ scramble(operation))),
        sigma_(std::sqrt(std::log1p(variation_ratio * variation_ratio))) {}

  double operator()(std::int64_t block) const {
    return sigma_ == 0 ? 1.0 : std::exp(sigma_ * normal(block) - sigma_ * sigma_ / 2);
  }

 private:
  /// Box and Muller, from two halves of one hash.
  double normal(std::int64_t block) const {
    const std::uint64_t bits = scramble(key_ + static_cast<std::uint64_t>(block));
    const double radius = std::sqrt(-2 * std::log((static_cast<double>(bits >> 32) + 0.5) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * static_cast<double>(bits & 0xffffffff) * 0x1p-32;
    return radius * std::cos(angle);
  }

  std::uint64_t key_;
  double sigma_;
};

}  // namespace gpushare
