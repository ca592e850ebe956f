// SPDX-License-Identifier: Apache-2.0
// The factors by which the drain rate was wrong in a kernel's last launches, by their progress.
#pragma once

#include <vector>

namespace gpushare {

struct DrainError {
  double done = 0;    ///< share of the blocks
  double factor = 1;  ///< remaining time / predicted remaining time
};

class DrainErrors {
 public:
  /// Adds the errors of a launch that has ended, in the order of its progress. The last two launches count: polls come
  /// at different points of each, and between the polls nothing is known.
  void add(std::vector<DrainError> launch);

  /// 1 before anything is known.
  double factor(double done) const;

 private:
  std::vector<DrainError> latest_;
  std::vector<DrainError> both_;  // of the latest and the one before, by progress
};

}  // namespace gpushare
