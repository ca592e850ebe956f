// SPDX-License-Identifier: Apache-2.0
#include "core/model/kernel.hpp"

#include <cmath>
#include <string>

#include "core/model/errors.hpp"

namespace gpushare {

BlockCost cost_from_full_residency(Duration mean_block_time, int max_residency, double issue_utilisation_ratio) {
  require(mean_block_time.count() > 0, "mean block time must be positive");
  require(max_residency > 0, "maximum residency must be positive");
  require(issue_utilisation_ratio > 0 && issue_utilisation_ratio < 1,
          "issue utilisation must lie strictly between 0 and 1, got " + std::to_string(issue_utilisation_ratio));
  // Inverts the contention model at R identical blocks: with per-block utilisation u = U / R, the share q of its
  // time that a block spends issuing or waiting to issue solves q = u (1 + (R - 1) q).
  const double per_block = issue_utilisation_ratio / max_residency;
  const double issuing_ratio = per_block / (1 - per_block * (max_residency - 1));
  const double time = nanoseconds(mean_block_time);
  const double issue = per_block * time;
  const double latency = (1 - issuing_ratio) * time + issue;
  return {.latency = Duration(std::llround(latency)), .issue = Duration(std::llround(issue))};
}

}  // namespace gpushare
