// SPDX-License-Identifier: Apache-2.0
// Whether a trace is possible. A trace that was written down may come back damaged, or beside another
// workload or device; its readers index by its ids and rely on its counts.
#pragma once

#include "core/engine/trace.hpp"
#include "core/model/workload.hpp"

namespace gpushare {

/// Throws InvalidInput at the first event that names what is not there, or that cannot follow those before it: an
/// application and a launch arrive once, and end once; what is told of them happens in between; of the blocks of a
/// grid none starts twice, and on each SM only those end that have started there. Plans name launches of the workload.
void require_possible(const Trace& trace, const Workload& workload, const Device& device);

/// The same on whatever device it was.
void require_possible(const Trace& trace, const Workload& workload);

}  // namespace gpushare
