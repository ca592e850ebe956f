// SPDX-License-Identifier: Apache-2.0
// Whole SMs for what was meant in fractions.
#pragma once

#include <span>
#include <vector>

namespace gpushare {

/// Parts of `sms` in proportion to what each wants, never more than the most it can use, at least one each; what is
/// left over goes to the largest remainders. There must not be more parts than SMs. Where nobody can use the rest, it
/// is left.
std::vector<int> sm_shares(std::span<const double> wanted, std::span<const int> most, int sms);

}  // namespace gpushare
