// SPDX-License-Identifier: Apache-2.0
// Classification without counters: where nobody is slower for it that an application gives up SMs, it is memory-bound.
// Where CD-search reads hardware counters (section 4.1.1 finds trying out SM counts too slow), this takes one
// measurement more for each application, which is also the first one of its search.
//
// What counts is what all lose together. Two memory-bound applications compete for the same bandwidth: one of them that
// gives up SMs alone is slower, but only because the other is as much faster.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/kernel_rates/off_sm_bandwidth.hpp"

namespace gpushare {

/// Of each application, where it was measured.
using Rates = std::vector<std::optional<double>>;

/// Each as a share of its rate before, added up.
inline double lost_together(const Rates& before, const Rates& now) {
  double lost = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (before[i] && now[i]) lost += 1 - *now[i] / *before[i];
  }
  return lost;
}

/// SMs that are left in the test: about a quarter is stalled, enough for a clear answer, and soon given back. An even
/// number where there are enough, so that the search, which begins there, goes on by the paper's steps of two.
inline int sms_in_stall_test(int sms) {
  const int stalled = std::max(sms / 4, 1);
  return sms - (sms >= 4 ? (stalled + 1) / 2 * 2 : stalled);
}

/// `lost`: what all lose together. A compute-bound application loses the share of its SMs
/// that is stalled, a memory-bound one nothing; the border is half-way.
inline BoundBy intensity_by_stall_test(int sms, double lost) {
  const double stalled = 1 - static_cast<double>(sms_in_stall_test(sms)) / sms;
  return lost > stalled / 2 ? BoundBy::Compute : BoundBy::Memory;
}

}  // namespace gpushare
