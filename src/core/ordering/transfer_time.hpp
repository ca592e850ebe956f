// SPDX-License-Identifier: Apache-2.0
// How long a copy will take (CuMAS, Eq. 6): its bandwidth for x bytes is x / (a x + b), so its time is a x + b. What a
// and b are for a GPU: calibration/transfer_fit.hpp.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/calibration/transfer_fit.hpp"
#include "core/model/device.hpp"

namespace gpushare {

class TransferTime {
 public:
  explicit TransferTime(const TransferFit& fit) : ns_per_byte_(fit.ns_per_byte), latency_ns_(fit.latency_ns) {}
  explicit TransferTime(const CopyEngine& engine)
      : ns_per_byte_(1e9 / engine.bandwidth.bytes_per_second), latency_ns_(nanoseconds(engine.latency)) {}

  /// Nothing is copied in no time. In pieces, if a size is given: each begins when the one before has ended, or, if the
  /// engine has several at a time, their latencies go by meanwhile.
  Duration of(Bytes size, Bytes piece = {}, int at_a_time = 1) const {
    if (size.count == 0) return {};
    const double transfer = ns_per_byte_ * static_cast<double>(size.count);
    if (piece.count == 0) return Duration(std::llrint(transfer + latency_ns_));
    const double pieces = std::ceil(static_cast<double>(size.count) / static_cast<double>(piece.count));
    if (at_a_time == 1) return Duration(std::llrint(transfer + pieces * latency_ns_));
    return Duration(std::llrint(latency_ns_ + std::max(transfer, pieces * latency_ns_)));
  }

  /// The size of pieces that lose this share of the bandwidth, a multiple of 64 KiB.
  Bytes piece_losing(double share) const {
    constexpr double step = 65536;
    const double bytes = latency_ns_ / ns_per_byte_ * (1 - share) / share;
    return Bytes{std::llrint(std::max(1.0, std::ceil(bytes / step)) * step)};
  }

 private:
  double ns_per_byte_;
  double latency_ns_;
};

}  // namespace gpushare
