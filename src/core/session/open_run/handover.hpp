// SPDX-License-Identifier: Apache-2.0
// A policy that takes over in the middle of a run has to know the state of the run. It learns that as every policy
// does, from events: the shortest history that leads to the present state.
#pragma once

#include <span>
#include <vector>

#include "core/engine/state.hpp"

namespace gpushare {

/// Events that lead from a state with these applications and nothing else to one like `state`: which applications are
/// present, what runs since when, how many blocks of it have run and run on each SM, and how long each SM has been at
/// it. What a block took is told as its mean over the launch's SMs. The last event is a DeadlineReached at the present
/// time.
std::vector<Event> history_of(const State& state, std::span<const ApplicationId> present);

}  // namespace gpushare
