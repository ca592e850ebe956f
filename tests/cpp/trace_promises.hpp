// SPDX-License-Identifier: Apache-2.0
// What must hold in every trace, whatever the device, the workload and the policy. Each promise is recomputed from
// the events alone.
#pragma once

#include "core/engine/trace.hpp"
#include "core/model/device.hpp"
#include "core/model/workload.hpp"

namespace gpushare::test {

/// Time never goes back.
void expect_time_moves_forward(const Trace& trace);

/// Every block of every launch starts once and ends once, on the same SM, and says when it started. For traces of
/// single blocks: a group does not say which blocks it is of.
void expect_every_block_once(const Trace& trace, const Workload& workload);

/// Every application comes and goes, and its operations follow one another.
void expect_streams_in_order(const Trace& trace, const Workload& workload);

/// No SM ever holds more threads, warps, registers, shared memory or blocks than it has, nor more blocks of a launch
/// than its maximum residency.
void expect_no_overcommitment(const Trace& trace, const Device& device, const Workload& workload);

/// All quotas lie in 0..R, and no block starts above the quota that is in force.
void expect_quotas_kept(const Trace& trace, const Device& device, const Workload& workload);

/// Under FIFO and without delays: whenever time goes on, no SM has room for a block of the first launch that has
/// blocks to start.
void expect_work_conserved_in_order_of_arrival(const Trace& trace, const Device& device, const Workload& workload);

inline void expect_every_promise(const Trace& trace, const Device& device, const Workload& workload) {
  expect_time_moves_forward(trace);
  expect_every_block_once(trace, workload);
  expect_streams_in_order(trace, workload);
  expect_no_overcommitment(trace, device, workload);
  expect_quotas_kept(trace, device, workload);
}

}  // namespace gpushare::test
