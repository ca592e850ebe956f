// SPDX-License-Identifier: Apache-2.0
// Python speaks plain numbers: nanoseconds, bytes, bytes per second. Here they become the core's types and back.
#pragma once

#include <optional>

#include "core/units.hpp"

namespace gpushare::bindings {

inline std::int64_t count(Duration duration) { return duration.count(); }
inline std::int64_t count(Time time) { return time.time_since_epoch().count(); }

template <typename When>
std::optional<std::int64_t> optional_count(const std::optional<When>& when) {
  return when ? std::optional(count(*when)) : std::nullopt;
}

}  // namespace gpushare::bindings
