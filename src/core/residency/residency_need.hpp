// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/residency/residency_request.hpp"

namespace gpushare {

/// The need of a launch, for arbitrate().
struct Need {
  int per_sm = 0;                ///< workers on an SM where it may have some, if its tasks are spread evenly
  std::size_t emptied_from = 0;  ///< from this SM on all tasks would fit without the launches that rank behind
};

/// The workers that the launch has there, or will have.
inline int held(const ResidencyRequest& launch, const Need& need, std::size_t sm) {
  return std::max(launch.present[sm], std::min(launch.wanted[sm], need.per_sm));
}

/// The least split of the SM's L1 cache that its present launches imply. Below zero without any.
inline Bytes divided(std::span<const ResidencyRequest> launches, std::size_t sm) {
  Bytes widest{-1};
  for (const ResidencyRequest& launch : launches) {
    if (launch.present[sm] > 0) widest = std::max(widest, launch.split);
  }
  return widest;
}

}  // namespace gpushare
