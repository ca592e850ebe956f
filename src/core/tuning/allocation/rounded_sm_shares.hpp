// SPDX-License-Identifier: Apache-2.0
// Rounds shares of the SMs to whole SMs.
#pragma once

#include <span>
#include <vector>

namespace gpushare {

/// Shares of `sms` in proportion to what each wants: at least one, and never more than the most it can use. What is
/// left over goes to the largest remainders, as far as it can be used. There must not be more shares than SMs.
std::vector<int> rounded_sm_shares(std::span<const double> wanted, std::span<const int> most, int sms);

}  // namespace gpushare
