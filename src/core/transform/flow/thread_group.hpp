// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

namespace gpushare::ptx {

/// The blocks of threads for which a result of the analyses holds. Warps consist of threads consecutive in x, then in
/// y, then in z, so what is known of a warp depends on how wide its block is.
struct BlockShapes {
  enum class Kind : std::uint8_t {
    Any,         ///< whatever their shape
    Flat,        ///< of one layer, or whole warps wide
    Lines,       ///< of one dimension, or whole warps wide
    WholeWarps,  ///< a multiple of 32 threads wide
    OneWidth,    ///< of one layer, and this wide
  } kind = Kind::Any;
  std::int64_t width = 0;

  bool suit(std::int64_t x, std::int64_t y, std::int64_t z) const {
    if (kind == Kind::Any) return true;
    if (kind == Kind::OneWidth) return x == width && z == 1;
    if (x % 32 == 0) return true;
    return kind == Kind::Flat ? z == 1 : kind == Kind::Lines && y == 1 && z == 1;
  }
  auto operator<=>(const BlockShapes&) const = default;
};

/// The threads between which values may differ: those of a block, or these lanes of each warp.
struct ThreadGroup {
  std::uint32_t lanes = 0;  ///< 0: all threads of the block
  BlockShapes blocks{};

  static constexpr std::uint32_t all_lanes = ~std::uint32_t{0};
  bool is_block() const { return lanes == 0; }
  auto operator<=>(const ThreadGroup&) const = default;
};

}  // namespace gpushare::ptx
