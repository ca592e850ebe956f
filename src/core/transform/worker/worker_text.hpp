// SPDX-License-Identifier: Apache-2.0
// The PTX that surrounds a kernel's body in a worker, with comments for readers of the result.
#pragma once

#include <string>

#include "core/transform/worker/worker_needs.hpp"

namespace gpushare::ptx::worker_text {

/// Which components of the block index and the grid's size the body reads.
struct BlockIndexUse {
  bool x = false;
  bool y = false;
  bool z = false;
  bool any() const { return x || y || z; }
};

/// The parameter behind the kernel's parameters.
std::string parameter();

/// Module scope: where called functions find the logical block index and grid size.
std::string block_index_slot();

/// The text at the beginning of an original that calls functions which read the slot: every thread stores the block
/// index, since each thread reads what it stored.
std::string fill_block_index_slot();

/// The shared memory of the worker, in addition to the kernel's.
std::size_t shared_bytes(const WorkerNeeds& needs);

/// Behind the opening brace: registers and shared memory of the worker.
std::string declarations(const WorkerNeeds& needs);

/// Before the first statement of the body: enter the SM, claim the first chunk, and begin a task.
std::string before_body(const WorkerNeeds& needs, const BlockIndexUse& use);

/// Instead of a return: go to the end of the task.
std::string instead_of_return(const std::string& guard);

/// Instead of the barrier with this number (from 1), where all barriers go through one site.
std::string instead_of_barrier(int number, const std::string& guard, const std::string& inverse_guard);

/// Instead of the load with this number (from 1): the leader loads, and all threads get what it has found. `type`: with
/// the size of a vector; `values`: the registers.
std::string load_for_all(int number, const std::string& inverse_guard, const std::string& load, const std::string& type,
                         const std::string& values);

/// An instruction that the first task of a worker leaves out. `number`: of such places, from 1.
std::string unless_first_task(int number, const std::string& instruction);

/// Before the closing brace: end the task, go on with the next, and leave at last. `barriers`: how many barriers of
/// the body go through the single site.
std::string after_body(const WorkerNeeds& needs, const BlockIndexUse& use, int barriers);

}  // namespace gpushare::ptx::worker_text
