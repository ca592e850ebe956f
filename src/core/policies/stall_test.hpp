// SPDX-License-Identifier: Apache-2.0
// Classification without counters: an application that does not miss the SMs that are stalled is memory-bound. Where
// CD-search reads hardware counters (section 4.1.1 finds trying out SM counts too slow), this is one measurement more,
// and it counts as the first one of the search.
#pragma once

#include <algorithm>

#include "core/predictors/off_sm_bandwidth.hpp"

namespace gpushare {

/// SMs that are left in the test: a quarter is stalled, enough for a clear answer, and soon given back.
inline int sms_in_stall_test(int sms) { return sms - std::max(sms / 4, 1); }

/// `kept`: the rate in the test over that on all `sms`. In proportion to the SMs is compute-bound, the same as before
/// is memory-bound; the border is half-way.
inline Intensity intensity_by_stall_test(int sms, double kept) {
  const double in_proportion = static_cast<double>(sms_in_stall_test(sms)) / sms;
  return kept < (1 + in_proportion) / 2 ? Intensity::Compute : Intensity::Memory;
}

}  // namespace gpushare
