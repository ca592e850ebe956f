// SPDX-License-Identifier: Apache-2.0
// Selects the launches among which residency is shared out. Where a hundred wait, most can only wait: sharing out among
// all of them, at every plan and every poll, would take longer than a short launch does.
#pragma once

#include <span>
#include <vector>

namespace gpushare {

/// A launch that may need residency.
struct RankedLaunch {
  bool has_begun = false;
  std::span<const int> wanted{};  ///< workers, by SM
};

/// The selected places in `ranked`, in rank order: the launches that have begun; of the others the first ones that want
/// workers, `most` less the number that have begun, but at least `least`; and each that wants an SM for which none of
/// these waits.
std::vector<std::size_t> contenders(std::span<const RankedLaunch> ranked, std::size_t most, std::size_t least);

}  // namespace gpushare
