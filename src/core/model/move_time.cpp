// SPDX-License-Identifier: Apache-2.0
#include "core/model/move_time.hpp"

#include <algorithm>
#include <cmath>

namespace gpushare {
namespace {

/// Added to any time of a run it does not overflow.
constexpr Duration longest_move = (latest_time - Time{}) / 8;

}  // namespace

Duration move_time(const Device& from, const Device& to, Bytes size) {
  const bool are_linked = from.peer.bandwidth.bytes_per_second > 0 && to.peer.bandwidth.bytes_per_second > 0;
  const CopyEngine& out = are_linked ? from.peer : from.to_host;
  const CopyEngine& in = are_linked ? to.peer : to.to_device;
  const double bandwidth = std::min(out.bandwidth.bytes_per_second, in.bandwidth.bytes_per_second);
  const Duration latency = are_linked ? std::max(out.latency, in.latency) : out.latency + in.latency;
  const double copying = static_cast<double>(size.count) / bandwidth * 1e9;
  return copying < nanoseconds(longest_move) ? latency + Duration(std::llround(copying)) : longest_move;
}

}  // namespace gpushare
