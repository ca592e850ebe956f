// SPDX-License-Identifier: Apache-2.0
#include "client/launch_limits.hpp"

namespace gpushare::client {
namespace {

struct Limits {
  const char* what;
  std::array<std::uint32_t, 3> most;
  std::uint64_t most_in_all;
};

constexpr Limits grids{"grid", {0x7fff'ffff, 65'535, 65'535}, 0x7fff'ffff};  // a worker numbers blocks with 31 bits
constexpr Limits blocks{"block", {1024, 1024, 64}, 1024};

std::string shown(const std::array<std::uint32_t, 3>& values) {
  return std::to_string(values[0]) + " x " + std::to_string(values[1]) + " x " + std::to_string(values[2]);
}

void require_within(const std::string& kernel, const Extent& extent, const Limits& limits) {
  std::uint64_t product = 1;  // no overflow: each factor is checked before the next one
  bool fits = true;
  for (std::size_t axis = 0; axis < extent.values.size(); ++axis) {
    fits = fits && extent.values[axis] >= 1 && extent.values[axis] <= limits.most[axis];
    if (fits) product *= extent.values[axis];
  }
  if (fits && product <= limits.most_in_all) return;
  throw InvalidInput("launch of '" + kernel + "': a " + limits.what + " of " + shown(extent.values) + ": at most " +
                     shown(limits.most) + ", " + std::to_string(limits.most_in_all) + " in all, and nowhere 0");
}

}  // namespace

void require_grid(const std::string& kernel, const Extent& grid) { require_within(kernel, grid, grids); }

void require_block(const std::string& kernel, const Extent& block) { require_within(kernel, block, blocks); }

}  // namespace gpushare::client
