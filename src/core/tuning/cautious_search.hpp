// SPDX-License-Identifier: Apache-2.0
// Equal parts at once, and something else once it has turned out to promise clearly more. A search takes 0.6 ms in the
// mean and up to 11, and while a policy thinks nobody launches anything: so it thinks while the launches run, a few
// questions at a time. Every time it goes over the search from its beginning, and gets further, since answers are
// remembered.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/tuning/search.hpp"

namespace gpushare {

class CautiousSearch {
 public:
  CautiousSearch(const Device& device, std::vector<Contender> contenders, const Bounds& bounds)
      : contenders_(std::move(contenders)), forecast_(device, contenders_), bounds_(bounds) {}
  CautiousSearch(const CautiousSearch&) = delete;  // the forecast looks at the contenders
  CautiousSearch& operator=(const CautiousSearch&) = delete;

  Choice equal() const {
    const Division division = equal_parts(forecast_.device(), contenders_);
    return {.division = division, .outlook = forecast_.of(division)};
  }

  /// The choice, once it has been made.
  std::optional<Choice> think() {
    forecast_.allow(questions_at_a_time);
    Choice choice = cautious_division(forecast_, bounds_);
    if (forecast_.has_refused()) return std::nullopt;
    return choice;
  }

 private:
  static constexpr int questions_at_a_time = 4;  // 2.4 us each in the mean, up to 30

  std::vector<Contender> contenders_;
  Forecast forecast_;
  Bounds bounds_;
};

}  // namespace gpushare
