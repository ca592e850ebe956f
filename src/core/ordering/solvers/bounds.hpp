// SPDX-License-Identifier: Apache-2.0
// Lower bounds for all orders of a set of tasks, given the tasks fixed before and behind it.
#pragma once

#include "core/ordering/solvers/flow_tables.hpp"

namespace gpushare {

/// By engine: before, when it is free; behind, how long the rest of the schedule takes from its last use there.
using EngineTimes = std::array<std::int64_t, engine_count>;

inline EngineTimes times_of(const Front& front) { return {front.uplink, front.compute, front.downlink}; }

/// Places the task behind what ends at `head`, and before what takes `tail`.
void append(EngineTimes& head, const FlowTables& tables, int task);
void prepend(EngineTimes& tail, const FlowTables& tables, int task);

/// The end of the schedule, if these tasks go between head and tail. The first function considers single engines, the
/// second also pairs of them (Johnson).
std::int64_t single_engine_bound(const FlowTables& tables, TaskSet tasks, const EngineTimes& head,
                                 const EngineTimes& tail);
std::int64_t makespan_bound(const FlowTables& tables, TaskSet tasks, const EngineTimes& head, const EngineTimes& tail);

/// The sum of weight * end over these tasks, if they go behind head: Smith's rule on every engine by itself.
double turnaround_bound(const FlowTables& tables, TaskSet tasks, const EngineTimes& head);

/// A bound for the whole problem, in the units of OrderedTasks::cost_ns.
double lower_bound(const OrderingProblem& problem);

}  // namespace gpushare
