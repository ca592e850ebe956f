// SPDX-License-Identifier: Apache-2.0
// The two sides of sharing out residency: what a launch asks for, and what it gets.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/residency.hpp"

namespace gpushare {

/// The request of a launch, and its workers.
struct ResidencyRequest {
  BlockFootprint block{};
  std::vector<int> wanted{};   ///< workers, by SM
  std::vector<int> present{};  ///< workers, by SM
  std::int64_t unclaimed = 0;  ///< unclaimed tasks: a launch needs no more workers than that
  Bytes split{};               ///< how it wants an SM's L1 cache divided: shared_memory_split()
  bool is_seen = true;         ///< is `present` known? Else it is unknown what blocks the launch
  bool is_brief = false;       ///< it ends before a poll could show the places of its blocks
  bool leaves_soon = false;    ///< its workers leave within some tens of microseconds after an order
  friend bool operator==(const ResidencyRequest&, const ResidencyRequest&) = default;
};

struct ResidencyGrant {
  std::vector<int> workers{};  ///< that may stay, by SM
  /// SMs on which the hardware may place a worker: those where it may stay, and those with room for one that has to
  /// leave.
  int open_sms = 0;
};

}  // namespace gpushare
