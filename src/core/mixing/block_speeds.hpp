// SPDX-License-Identifier: Apache-2.0
// How fast kernels are while a division holds, by how long their blocks take: of those that both started and ended
// within the window. Ends may come in groups, late, and some SMs before others; durations bear that, counts do not.
#pragma once

#include <vector>

#include "core/mixing/division.hpp"
#include "core/state.hpp"

namespace gpushare {

class BlockSpeeds {
 public:
  explicit BlockSpeeds(std::size_t kernels) : seen_(kernels) {}

  /// A window that begins at this time.
  void begin(Time start);

  void add(const Event& ended, std::size_t kernel);

  std::int64_t blocks(std::size_t kernel) const { return seen_[kernel].blocks; }
  /// Blocks per nanosecond if all the blocks that the division allows are resident. Requires that some have ended.
  double rate(const Division& division, std::size_t kernel) const;

 private:
  struct Seen {
    std::int64_t blocks = 0;
    double time = 0;  // their durations, summed
  };
  Time start_{};
  std::vector<Seen> seen_;
};

}  // namespace gpushare
