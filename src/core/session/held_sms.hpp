// SPDX-License-Identifier: Apache-2.0
// On how many SMs an application has blocks, as a step function that says enough for a picture and stays short: exact
// where it comes to the device and goes, else a step in a tenth of a millisecond.
#pragma once

#include <optional>

#include "core/model/units.hpp"

namespace gpushare {

class HeldSms {
 public:
  static constexpr Duration least_apart{100'000};

  struct Step {
    Time time{};
    int sms = 0;  ///< from then on
  };

  /// There are so many from `now` on; what was at the same instant does not count. Returns the step before, if it is to
  /// be told.
  std::optional<Step> change(int sms, Time now) {
    const std::optional<Step> told = now > last_.time ? tell(now) : std::nullopt;
    last_ = {.time = now, .sms = sms};
    return told;
  }

  int sms() const { return last_.sms; }
  /// The last step.
  Step last() const { return last_; }

 private:
  std::optional<Step> tell(Time now) {
    const bool comes_or_goes = last_.sms == 0 || told_.sms == 0;
    if (last_.sms == told_.sms || (!comes_or_goes && now - told_.time < least_apart)) return std::nullopt;
    told_ = last_;
    return told_;
  }

  Step last_;
  Step told_;
};

}  // namespace gpushare
