// SPDX-License-Identifier: Apache-2.0
#include "core/model/move_time.hpp"

#include <algorithm>
#include <cmath>

namespace gpushare {

Duration move_time(const Device& from, const Device& to, Bytes size) {
  const bool are_linked = from.peer.bandwidth.bytes_per_second > 0 && to.peer.bandwidth.bytes_per_second > 0;
  const CopyEngine& out = are_linked ? from.peer : from.to_host;
  const CopyEngine& in = are_linked ? to.peer : to.to_device;
  const double bandwidth = std::min(out.bandwidth.bytes_per_second, in.bandwidth.bytes_per_second);
  const Duration latency = are_linked ? std::max(out.latency, in.latency) : out.latency + in.latency;
  return latency + Duration(std::llround(static_cast<double>(size.count) / bandwidth * 1e9));
}

}  // namespace gpushare
