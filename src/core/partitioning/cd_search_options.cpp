// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/cd_search_options.hpp"

#include <algorithm>
#include <chrono>

namespace gpushare {
namespace {

constexpr double cycles_of_a_phase = 20'000;  // CD-search 4.1
/// A quota takes some 25 us to act on an H100.
constexpr Duration shortest_phase = std::chrono::microseconds(25);
constexpr int sms_per_step = 12;  // CD-search 4.2: two of 24

}  // namespace

SearchOptions CdSearchOptions::search_on(int sms) const {
  SearchOptions scaled = search;
  if (scaled.need.step == 0) scaled.need.step = std::max(sms / sms_per_step / 2 * 2, 2);
  return scaled;
}

Duration CdSearchOptions::window_on(const Device& device) const {
  if (window > Duration(0)) return window;
  return std::max(shortest_phase, Duration(static_cast<Duration::rep>(cycles_of_a_phase / device.clock_hz * 1e9)));
}

CdSearchOptions cd_search_options(const PolicyOptions& options) {
  const std::string mode = options.word("mode", "the goal: performance, power (idle SMs), or the better of the two",
                                        {"auto", "performance", "power"});
  const std::string profile = options.word(
      "profile",
      "how an application is classified: by stalling SMs, by its profile, or by equations 1 and 2 of the paper",
      {"on-line", "off-line", "equations"});
  const Duration window =
      options.duration("window_ns", "length of a warm-up and of a measurement; left out: 20,000 cycles, at least 25 us",
                       Duration(0), Duration(1000), Duration(1'000'000'000));
  return {
      .search = {.mode = mode == "auto"    ? SearchMode::Auto
                         : mode == "power" ? SearchMode::Power
                                           : SearchMode::Performance,
                 .need = {.step = static_cast<int>(options.whole(
                              "step", "SMs stalled at a time; left out: a twelfth of the SMs", 0, 1, 1000)),
                          .rate_loss = options.number(
                              "rate_loss_share", "share of the rate on an even part that may be lost", 0.05, 0, 1)}},
      .classes = profile == "on-line"    ? ClassBy::StallTest
                 : profile == "off-line" ? ClassBy::ProfiledScaling
                                         : ClassBy::ProfiledBandwidth,
      .window = window};
}

std::optional<BoundBy> profiled_intensity(const State& state, ApplicationId application, ClassBy by) {
  for (const RunningLaunch& launch : state.running()) {
    if (launch.application != application || !launch.launch->kernel.is_profiled) continue;
    const Kernel& kernel = launch.launch->kernel;
    return by == ClassBy::ProfiledBandwidth ? intensity_by_off_sm_model(state.device(), kernel)
                                            : intensity_by_scaling(state.device(), kernel);
  }
  return std::nullopt;
}

}  // namespace gpushare
