// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/model/units.hpp"

namespace gpushare {

/// So many SMs for an application.
struct SmPart {
  ApplicationId application{};
  int sms = 0;
};

}  // namespace gpushare
