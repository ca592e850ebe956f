// SPDX-License-Identifier: Apache-2.0
// Every operation goes as soon as it is ready: the engine's own ordering.
#include "core/ordering/configured_ordering.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {

ConfiguredOrdering read_arrival_ordering(const PolicyOptions& /*options*/) { return {}; }

}  // namespace gpushare
