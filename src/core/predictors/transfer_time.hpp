// SPDX-License-Identifier: Apache-2.0
// How long a copy will take (CuMAS, Eq. 6): its bandwidth for x bytes is x / (a x + b), so its time is a x + b. What a
// and b are for a GPU: calibration/transfer_fit.hpp.
#pragma once

#include <cmath>

#include "core/calibration/transfer_fit.hpp"
#include "core/device.hpp"

namespace gpushare {

class TransferTime {
 public:
  explicit TransferTime(const TransferFit& fit) : ns_per_byte_(fit.ns_per_byte), latency_ns_(fit.latency_ns) {}
  explicit TransferTime(const CopyEngine& engine)
      : ns_per_byte_(1e9 / engine.bandwidth.bytes_per_second), latency_ns_(nanoseconds(engine.latency)) {}

  /// Nothing is copied in no time.
  Duration of(Bytes size) const {
    if (size.count == 0) return {};
    return Duration(std::llrint(ns_per_byte_ * static_cast<double>(size.count) + latency_ns_));
  }

 private:
  double ns_per_byte_;
  double latency_ns_;
};

}  // namespace gpushare
