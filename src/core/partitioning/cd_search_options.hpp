// SPDX-License-Identifier: Apache-2.0
// The options of cd-search: mode=auto|performance|power; profile=on-line|off-line|equations; step=SMs
// stalled at a time; rate_loss_share=share of the rate on an even part that may be lost; window_ns=length of a warm-up
// and of a profile.
#pragma once

#include "core/engine/state.hpp"
#include "core/partitioning/partition_search.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {

/// How the class of an application is found: by stalling some of its SMs, or from its kernel's profile, which shows
/// whether its speed saturates with SMs, and what it asks for by Eqs. 1 and 2.
enum class ClassBy { StallTest, ProfiledScaling, ProfiledBandwidth };

struct CdSearchOptions {
  SearchOptions search{};  ///< a step of 0 is scaled to the GPU
  ClassBy classes = ClassBy::StallTest;
  Duration window{};  ///< 0: the paper's cycles

  /// With steps of two SMs of 24, in proportion, where no step is given.
  SearchOptions search_on(int sms) const;
  /// 20,000 cycles, and the time that a real GPU needs to act and to report.
  Duration window_on(const Device& device) const;
};

/// Throws InvalidInput for values that cannot be.
CdSearchOptions cd_search_options(const PolicyOptions& options);

/// The class of the application's running launch by its profile; nullopt without a launch or a profile.
std::optional<BoundBy> profiled_intensity(const State& state, ApplicationId application, ClassBy by);

}  // namespace gpushare
