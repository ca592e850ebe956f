// SPDX-License-Identifier: Apache-2.0
// Makes kernels preemptible and resizable at thread-block boundary: PTX in, PTX out.
//
// The worker is a second, persistent entry beside the original. It takes a place on its SM if the quota there allows
// one more, claims tasks (thread blocks of the logical grid) a chunk at a time, runs the kernel's body for each with
// blockIdx and gridDim replaced, and leaves when the tasks are used up or the quota has shrunk. A claimed task is
// always finished, and tasks are handed out in increasing order from one counter, so kernels that wait for
// lower-numbered blocks (decoupled look-back) stay correct. A relaunch with the same control block resumes where the
// last one stopped.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/transform/worker/worker_needs.hpp"

namespace gpushare::ptx {

struct KernelVerdict {
  std::string name;
  std::variant<WorkerNeeds, Refusal> outcome;

  bool preemptible() const { return std::holds_alternative<WorkerNeeds>(outcome); }
};

struct Transformed {
  /// The module with the chosen entries as they were and, beside each that is preemptible, its worker. In one module
  /// both forms have the same variables.
  std::string ptx;
  std::vector<KernelVerdict> kernels;  ///< one per chosen entry, in the order of the module
};

/// The entry that is the worker of this one.
std::string worker_name(std::string_view entry);

/// `entries`: those to keep; all where none is named. Throws InvalidInput where the text is no PTX or has no such
/// entry.
Transformed make_preemptible(const std::string& ptx, const std::vector<std::string>& entries = {},
                             Reach reach = Reach::OneDevice);

}  // namespace gpushare::ptx
