// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/model/units.hpp"

namespace gpushare::test {

constexpr Time at_ns(std::int64_t nanoseconds) { return Time(Duration(nanoseconds)); }
constexpr Time at_us(std::int64_t microseconds) { return at_ns(1'000 * microseconds); }
constexpr Time at_ms(std::int64_t milliseconds) { return at_us(1'000 * milliseconds); }

}  // namespace gpushare::test
