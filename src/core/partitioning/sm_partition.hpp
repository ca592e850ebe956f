// SPDX-License-Identifier: Apache-2.0
// The owner of every SM. Partitions change by as few SMs as possible, because an SM that changes hands has to drain
// first.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/engine/plan.hpp"
#include "core/model/sm_part.hpp"

namespace gpushare {

/// Equal parts but for rounding; with more applications than SMs the last ones have none.
std::vector<int> even_parts(std::size_t applications, int sms);

class SmPartition {
 public:
  /// Gives each application so many SMs, and those that are not named none. An application with too many gives up those
  /// with the highest numbers; one with too few takes free ones: those that it had last, then those with the lowest
  /// numbers. The parts must not add up to more than `sms`.
  void resize(std::span<const SmPart> parts, int sms);

  int sms_of(ApplicationId application) const;
  bool owns(ApplicationId application, SmId sm) const { return owners_[index(sm)] == application; }

  /// The quota of a launch on its application's SMs only, `residency` blocks each.
  Quota quota(ApplicationId application, int residency) const;

 private:
  template <typename Wanted>
  void take(const SmPart& part, Wanted wanted);

  std::vector<std::optional<ApplicationId>> owners_;  // by SM
  std::vector<std::optional<ApplicationId>> latest_;  // by SM, the last owner that it had
};

}  // namespace gpushare
