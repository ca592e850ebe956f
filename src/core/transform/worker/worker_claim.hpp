// SPDX-License-Identifier: Apache-2.0
// How a worker's leader claims tasks and publishes them to the other threads: the part of the worker's text that
// assigns tasks.
#pragma once

#include <string>

#include "core/transform/worker/worker_text.hpp"

namespace gpushare::ptx::worker_text {

/// Between two chunks: stay or leave, and with what. `place`: "first" or "next". With the SM's entry and order at
/// %gpushare_a and %gpushare_b; leaves the chunk in %gpushare_next and %gpushare_j (its number of tasks, 0 to leave),
/// some of which may be beyond the end of the grid.
std::string claim(const std::string& place, const WorkerNeeds& needs);

/// All threads switch to the other of two slots: a fast leader must not overwrite what a slow thread has yet to read.
std::string next_slot();

/// The leader works out the chunk and the block index of its first task; all threads read them.
std::string publish(const std::string& place, const WorkerNeeds& needs, const BlockIndexUse& use);

}  // namespace gpushare::ptx::worker_text
