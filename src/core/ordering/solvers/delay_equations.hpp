// SPDX-License-Identifier: Apache-2.0
// Equations 1 to 3 of CuMAS: how long each task waits before its kernels and before its copies to the host, and what
// the whole order takes, on engines that are free.
#pragma once

#include <span>

#include "core/ordering/solvers/task.hpp"

namespace gpushare {

/// As printed, Eq. 2 subtracts the previous task's wait for the SMs. What delays the downlink's next use is the time in
/// which the SMs stood idle, max(0, s_i - p_{i-1} - wait_{i-1}). With that, and with every wait clipped at zero, which
/// the paper says in words ("positive definite"), Eq. 3 is the makespan of timing.hpp for tasks that use all three
/// engines. The equations say nothing of a task that leaves one out; as corrected it does not wait for that engine.
enum class DelayEquations { AsPrinted, AsCorrected };

struct TaskDelays {
  Duration compute{};   ///< Eq. 1
  Duration downlink{};  ///< Eq. 2, as printed
};

/// The delays of a task behind one that had these.
TaskDelays next_delays(const TaskDelays& before, const Task& previous, const Task& task);

/// Eq. 3. Throws InvalidInput for a negative duration, for more than 200 years, and where the order names a task that
/// is not there, or one twice.
Duration total_time(std::span<const Task> tasks, std::span<const int> order, DelayEquations equations);

}  // namespace gpushare
