// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/block_speeds.hpp"

#include <algorithm>

namespace gpushare {

void BlockSpeeds::begin(Time start) {
  start_ = start;
  std::ranges::fill(seen_, Seen{});
}

void BlockSpeeds::add(const Event& ended, std::size_t kernel) {
  if (ended.started < start_) return;
  seen_[kernel].blocks += ended.blocks;
  seen_[kernel].time += nanoseconds(ended.time - ended.started) * ended.blocks;
}

double BlockSpeeds::rate(const Division& division, std::size_t kernel) const {
  const Seen& seen = seen_[kernel];
  return blocks_in(division, kernel) * static_cast<double>(seen.blocks) / std::max(seen.time, 1.0);
}

}  // namespace gpushare
