// SPDX-License-Identifier: Apache-2.0
// Slate's Table I: may a kernel run beside another? As printed, which is not symmetric: the row is the kernel that
// runs, the column the candidate.
#pragma once

#include <array>
#include <cstddef>

#include "core/kernel_rates/intensity.hpp"

namespace gpushare {

/// Memory intensity comes first (section III.B.2): compute intensity matters only where memory's is low.
enum class SlateClass { LowCompute, MediumCompute, HighCompute, MediumMemory, HighMemory };

inline SlateClass slate_class(Intensity compute, Intensity memory) {
  if (memory == Intensity::High) return SlateClass::HighMemory;
  if (memory == Intensity::Medium) return SlateClass::MediumMemory;
  if (compute == Intensity::High) return SlateClass::HighCompute;
  return compute == Intensity::Medium ? SlateClass::MediumCompute : SlateClass::LowCompute;
}

/// The kernel has to be profiled.
inline SlateClass slate_class(const Device& device, const Launch& launch) {
  const Demand demand = demand_alone(device, launch);
  return slate_class(demand.compute_intensity(), demand.memory_intensity());
}

inline bool is_complementary(SlateClass running, SlateClass candidate) {
  constexpr bool corun = true;
  constexpr bool solo = false;
  // clang-format off
  constexpr std::array<std::array<bool, 5>, 5> table{{
      //          L_C    M_C    H_C    M_M    H_M
      /* L_C */ {corun, corun, solo,  corun, corun},
      /* M_C */ {corun, corun, solo,  solo,  corun},
      /* H_C */ {solo,  solo,  solo,  solo,  corun},
      /* M_M */ {corun, solo,  corun, solo,  solo},
      /* H_M */ {corun, corun, solo,  solo,  solo},
  }};
  // clang-format on
  return table[static_cast<std::size_t>(running)][static_cast<std::size_t>(candidate)];
}

}  // namespace gpushare
