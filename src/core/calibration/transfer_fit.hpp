// SPDX-License-Identifier: Apache-2.0
// The transfer model of CuMAS (Eq. 6): bandwidth y = x / (a x + b) for x bytes, so that time = a x + b.
#pragma once

#include <span>
#include <vector>

namespace gpushare {

struct TransferPoint {
  double bytes = 0;
  double nanoseconds = 0;
};

struct TransferFit {
  double ns_per_byte = 0;         ///< a
  double latency_ns = 0;          ///< b
  std::vector<double> residuals;  ///< model / measured - 1 of every point's time
};

/// Least squares of the relative errors of times, without the worst tenth of the points in the end: plain least squares
/// would see nothing but the largest copies. Throws InvalidInput unless two sizes are there.
TransferFit fit_transfer(std::span<const TransferPoint> points);

}  // namespace gpushare
