// SPDX-License-Identifier: Apache-2.0
// What a forked process has of its parent's work with CUDA, and cannot use: each file forgets its own.
#pragma once

namespace gpushare::intercept {

void forget_streams();
void forget_samples();
void forget_kernels();
void forget_captures();
void forget_allocations();
void forget_progress();
void forget_events();

inline void forget_parents_work() {
  forget_streams();
  forget_samples();
  forget_kernels();
  forget_captures();
  forget_allocations();
  forget_progress();
  forget_events();
}

}  // namespace gpushare::intercept
