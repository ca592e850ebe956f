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
  const double floor = options.number("floor",
                                      "least speed of each application that asks for none itself; left out: half of an "
                                      "equal part, or none with caution=yes and equal weights",
                                      nobody_asks, 0, 1);
  return {
      .seating = {.small = microseconds(options.number(
                      "small_us", "launches that take less alone go first and move no other", 30, 0, longest_us)),
                  .floor = floor == nobody_asks ? std::nullopt : std::optional(floor)},
      .antt = options.number("antt", "bound of the mean slowdown; left out: none",
                             std::numeric_limits<double>::infinity(), 1, 1e9),
      .patience = microseconds(options.number(
          "patience_us", "how long a place is kept between two launches of an application", 60, 0, longest_us)),
      .reserve = microseconds(options.number(
          "reserve_us", "how long a place or SM headroom is kept for an application with a latency bound or a priority",
          5000, 0, longest_us)),
      .is_cautious =
          options.word(
              "caution",
              "where SMs serve their oldest blocks first: begin with equal parts, and depart from them by measurement",
              {"yes", "no"}) == "yes",
      .probes = {.share = options.number("probe_share",
                                         "share of the time in which other divisions are measured; left out: 0.25, or "
                                         "0.02 where SMs cannot be shared or a speed is promised",
                                         usual_share, 0, 0.5),
                 .window = microseconds(options.number("probe_us", "length of the first measuring window of a probe",
                                                       2000, 1, longest_us))}};
}

}  // namespace gpushare
