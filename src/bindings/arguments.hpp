// SPDX-License-Identifier: Apache-2.0
// Python passes plain numbers: nanoseconds, bytes, bytes per second. They are converted here to the core's types and
// back.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "core/model/errors.hpp"
#include "core/model/units.hpp"

namespace gpushare::bindings {

inline std::int64_t count(Duration duration) { return duration.count(); }
inline std::int64_t count(Time time) { return time.time_since_epoch().count(); }

template <typename When>
std::optional<std::int64_t> optional_count(const std::optional<When>& when) {
  return when ? std::optional(count(*when)) : std::nullopt;
}

/// The shortest exact text: 0.5, 1e+06, nan.
inline std::string shown(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// For numbers that no object has checked: infinite ones and NaN are not in any range.
inline void require_in(const char* name, double value, double least, double most) {
  require(std::isfinite(value) && value >= least && value <= most,
          std::string(name) + " must be a number in " + shown(least) + ".." + shown(most) + ", got " + shown(value));
}

inline void require_positive(const char* name, double value) {
  require(std::isfinite(value) && value > 0,
          std::string(name) + " must be a positive finite number, got " + shown(value));
}

inline void require_in(const char* name, std::int64_t value, std::int64_t least) {
  require(value >= least,
          std::string(name) + " must be " + std::to_string(least) + " or more, got " + std::to_string(value));
}

}  // namespace gpushare::bindings
