// SPDX-License-Identifier: Apache-2.0
// Equations 1 to 3 of CuMAS: how long each task waits before its kernels and before its copies to the host, and what
// the whole order takes. For tasks that use all three engines, on engines that are free.
#pragma once

#include <span>

#include "core/ordering/task.hpp"

namespace gpushare {

/// As printed, Eq. 2 subtracts the previous task's wait for the SMs. What delays the downlink's next use is the time in
/// which the SMs stood idle, max(0, s_i - p_{i-1} - wait_{i-1}): as corrected it subtracts that, and agrees with
/// schedule_of(). Every wait is clipped at zero, which the paper says in words ("positive definite").
enum class DelayEquations { AsPrinted, AsCorrected };

struct TaskDelays {
  Duration compute{};   ///< Eq. 1
  Duration downlink{};  ///< Eq. 2
};

/// The delays of a task behind one that had these.
TaskDelays next_delays(const TaskDelays& before, const Task& previous, const Task& task, DelayEquations equations);

/// Eq. 3.
Duration total_time(std::span<const Task> tasks, std::span<const int> order, DelayEquations equations);

}  // namespace gpushare
