// SPDX-License-Identifier: Apache-2.0
// How a worker's leader claims tasks and tells the other threads: the part of the worker's text that decides who runs
// what.
#pragma once

#include <string>

#include "core/transform/worker_text.hpp"

namespace gpushare::ptx::worker_text {

/// When the leader claims the next chunk: while the last task of this one runs, so that nobody waits for it, or after
/// that task. Near the end of the grid a worker in a long task must not sit on tasks that others could run.
enum class Claim { First, Early, Late };

/// The leader looks at its SM's quota and claims %gpushare_count tasks from %gpushare_next on; none if it has to leave.
std::string claim(Claim when, const WorkerNeeds& needs);

/// Refers to the number of tasks left in a chunk as {left}, after {mask_left}.
std::string with_tasks_left(const std::string& text, const WorkerNeeds& needs);

/// The leader works out the chunk and the block index of its first task; all threads read them.
std::string publish(const std::string& place, const WorkerNeeds& needs, const BlockIndexUse& use);

}  // namespace gpushare::ptx::worker_text
