// SPDX-License-Identifier: Apache-2.0
// Which SM is whose. Parts change by as few SMs as possible, since every SM that changes hands has to drain first.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/engine/plan.hpp"
#include "core/model/sm_part.hpp"

namespace gpushare {

/// As equal as whole SMs can be; with more applications than SMs the last ones have none.
std::vector<int> even_parts(std::size_t applications, int sms);

class SmPartition {
 public:
  /// Gives everybody so many SMs, who is not named none. Who has too many gives up those with the highest numbers, who
  /// has too few takes free ones: those that were its own, then those with the lowest numbers. The parts must not add
  /// up to more than `sms`.
  void resize(std::span<const SmPart> parts, int sms);

  int sms_of(ApplicationId application) const;
  bool owns(ApplicationId application, SmId sm) const { return owners_[index(sm)] == application; }

  /// The quota of a launch that may fill its application's SMs, `residency` blocks each, and has no other.
  Quota quota(ApplicationId application, int residency) const;

 private:
  template <typename Wanted>
  void take(const SmPart& part, Wanted wanted);

  std::vector<std::optional<ApplicationId>> owners_;  // by SM
  std::vector<std::optional<ApplicationId>> latest_;  // likewise, the last one that there was
};

}  // namespace gpushare
