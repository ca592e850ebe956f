// SPDX-License-Identifier: Apache-2.0
// The requirements for plans, checked before a device sees them, and the message for a policy that lets work starve.
#pragma once

#include <string>

#include "core/engine/plan.hpp"
#include "core/engine/state.hpp"

namespace gpushare {

/// Throws PolicyError naming the launch, the SM and the quota that cannot be.
void check(const Plan& plan, const State& state);

/// Names the launches that wait although nothing can happen any more.
std::string starvation_message(const State& state);

}  // namespace gpushare
