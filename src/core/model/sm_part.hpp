// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/model/units.hpp"

namespace gpushare {

/// An application and its number of SMs.
struct SmPart {
  ApplicationId application{};
  int sms = 0;
};

}  // namespace gpushare
