// SPDX-License-Identifier: Apache-2.0
// The speeds of blocks on an SM, before the bandwidth beyond it is shared. The same mixes of blocks recur, so the
// results of the contention model are cached.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/simulation/streaming_multiprocessor.hpp"

namespace gpushare {

/// Per group of an SM.
struct SmSpeeds {
  std::vector<double> block_times;
  std::vector<MemoryWait> waits;
};

class SmSpeedCache {
 public:
  explicit SmSpeedCache(IssueOrder order) : order_(order) {}

  /// Valid until the next call.
  const SmSpeeds& of(StreamingMultiprocessor& sm);

 private:
  using Mix = std::vector<std::pair<std::uint64_t, int>>;  // numbers of launches, and blocks of each

  IssueOrder order_;
  std::map<Mix, SmSpeeds> known_;
  Mix mix_;
};

}  // namespace gpushare
