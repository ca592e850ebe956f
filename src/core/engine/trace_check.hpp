// SPDX-License-Identifier: Apache-2.0
// Whether a trace is possible. A stored trace may be damaged, or be used with another workload or device; its readers
// index by its ids and rely on its counts.
#pragma once

#include "core/engine/trace.hpp"
#include "core/model/workload.hpp"

namespace gpushare {

/// Throws InvalidInput at the first event that names an unknown object, or that cannot follow the earlier ones: an
/// application and a launch arrive once, and end once, with all their other events in between; no block of a grid
/// starts twice, and on each SM only blocks end that have started there. Plans name launches of the workload.
void require_possible(const Trace& trace, const Workload& workload, const Device& device);

/// The same for an unknown device.
void require_possible(const Trace& trace, const Workload& workload);

}  // namespace gpushare
