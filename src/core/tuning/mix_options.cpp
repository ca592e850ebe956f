// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/mix_options.hpp"

#include <limits>

namespace gpushare {
namespace {

constexpr double longest_us = 1e6;
constexpr double nobody_asks = -1;

Duration microseconds(double count) { return Duration(static_cast<Duration::rep>(count * 1e3)); }

}  // namespace

MixOptions MixOptions::from(const PolicyOptions& options) {
  const double floor = options.number("floor", nobody_asks, 0, 1);
  return {.seating = {.small = microseconds(options.number("small_us", 30, 0, longest_us)),
                      .floor = floor == nobody_asks ? std::nullopt : std::optional(floor)},
          .antt = options.number("antt", std::numeric_limits<double>::infinity(), 1, 1e9),
          .patience = microseconds(options.number("patience_us", 60, 0, longest_us)),
          .reserve = microseconds(options.number("reserve_us", 5000, 0, longest_us)),
          .is_cautious = options.word("caution", {"yes", "no"}) == "yes",
          .probes = {.share = options.number("probe_share", usual_share, 0, 0.5),
                     .window = microseconds(options.number("probe_us", 2000, 1, longest_us))}};
}

}  // namespace gpushare
