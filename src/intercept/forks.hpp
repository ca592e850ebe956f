// SPDX-License-Identifier: Apache-2.0
// State of the parent that a forked process cannot use, as CUDA does not survive a fork: each file resets its part.
#pragma once

namespace gpushare::intercept {

void forget_streams();
void forget_samples();
void forget_kernels();
void forget_captures();
void forget_allocations();
void forget_progress();
void forget_events();
void forget_workers();
void forget_held_work();
void forget_slots();
void forget_code();
void forget_phases();
void forget_staging();

inline void forget_parents_work() {
  forget_streams();
  forget_samples();
  forget_kernels();
  forget_captures();
  forget_allocations();
  forget_progress();
  forget_events();
  forget_workers();
  forget_phases();
  forget_staging();
}

}  // namespace gpushare::intercept
