// SPDX-License-Identifier: Apache-2.0
// What an open run leaves: its work as a workload, and its trace with the numbers that things have there.
#pragma once

#include <span>

#include "core/engine/trace.hpp"
#include "core/session/open_run/open_run.hpp"

namespace gpushare {

/// As OpenRun::close() says. Renumbers the trace. Requires that no application has been forgotten.
ClosedRun closed_run(const OpenWork& work, std::span<const ApplicationId> owners,
                     const std::map<ApplicationId, OpenStream>& streams, const State& state, Trace& trace);

}  // namespace gpushare
