// SPDX-License-Identifier: Apache-2.0
// How much work one block has, relative to the kernel's mean. A function of (seed, operation, block) alone: a block
// has the same work under every policy, so that policies are compared on the same grid and not on different luck.
#pragma once

#include <array>
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
      : key_(scramble(seed ^ scramble(operation))), sigma_(std::sqrt(std::log1p(variation_ratio * variation_ratio))) {}

  double operator()(std::int64_t block) const {
    if (sigma_ == 0) return 1.0;
    if (block / 2 != drawn_pair_) draw(block / 2);
    return std::exp(sigma_ * normals_[static_cast<std::size_t>(block % 2)] - sigma_ * sigma_ / 2);
  }

 private:
  /// Box and Muller make two normal numbers at a time, here from two halves of one hash. Blocks start in order, so the
  /// second is kept for the neighbour.
  void draw(std::int64_t pair) const {
    const std::uint64_t bits = scramble(key_ + static_cast<std::uint64_t>(pair));
    const double radius = std::sqrt(-2 * std::log((static_cast<double>(bits >> 32) + 0.5) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * static_cast<double>(bits & 0xffffffff) * 0x1p-32;
    normals_ = {radius * std::cos(angle), radius * std::sin(angle)};
    drawn_pair_ = pair;
  }

  std::uint64_t key_;
  double sigma_;
  mutable std::int64_t drawn_pair_ = -1;
  mutable std::array<double, 2> normals_{};
};

}  // namespace gpushare
