// SPDX-License-Identifier: Apache-2.0
// Makes kernels preemptible and resizable at thread-block boundary: PTX in, PTX out.
//
// The new entry is a persistent worker. It takes a place on its SM if the quota there allows one more, claims tasks
// (thread blocks of the logical grid) a chunk at a time, runs the kernel's body for each with blockIdx and gridDim
// replaced, and leaves when the tasks are used up or the quota has shrunk. A task that is claimed is always finished,
// and tasks are handed out in increasing order from one counter, so kernels that wait for lower-numbered blocks
// (decoupled look-back) stay correct. A relaunch with the same control block resumes where the last one stopped.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/transform/worker_needs.hpp"

namespace gpushare::ptx {

struct KernelVerdict {
  std::string name;
  std::variant<WorkerNeeds, Refusal> outcome;

  bool preemptible() const { return std::holds_alternative<WorkerNeeds>(outcome); }
};

struct Transformed {
  std::string ptx;                     ///< the module, every preemptible entry made a worker, the others as they were
  std::vector<KernelVerdict> kernels;  ///< one per entry, in the order of the module
};

/// Throws InvalidInput where the text is no PTX.
Transformed make_preemptible(const std::string& ptx);

}  // namespace gpushare::ptx
