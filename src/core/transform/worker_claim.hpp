// SPDX-License-Identifier: Apache-2.0
// How a worker's leader claims tasks and tells the other threads: the part of the worker's text that decides who runs
// what.
#pragma once

#include <string>

#include "core/transform/worker_text.hpp"

namespace gpushare::ptx::worker_text {

/// While the last task of a chunk runs, its leader claims the next one and looks at the SM's order. It waits for
/// neither: what comes back is looked at when the task has ended. Near the end of the grid nothing is claimed ahead, so
/// that a worker in a long task does not sit on tasks that others could run.
std::string claim_ahead(const WorkerNeeds& needs);

/// The leader's first chunk, with the SM's entry and order at %gpushare_a and %gpushare_b. Leaves it in %gpushare_next
/// and %gpushare_j (its number of tasks, 0 to leave).
std::string first_chunk(const WorkerNeeds& needs);

/// At the end of a chunk: stay or leave, and with what. As first_chunk(); %gpushare_m is the number of tasks of the
/// chunk that has ended.
std::string next_chunk(const WorkerNeeds& needs);

/// All threads turn to the other of two slots: a fast leader must not overwrite what a slow thread has yet to read.
std::string next_slot(const WorkerNeeds& needs);

/// Refers to the number of tasks left in a chunk as {left}, after {mask_left}.
std::string with_tasks_left(const std::string& text, const WorkerNeeds& needs);

/// The leader works out the chunk and the block index of its first task; all threads read them.
std::string publish(const std::string& place, const WorkerNeeds& needs, const BlockIndexUse& use);

}  // namespace gpushare::ptx::worker_text
