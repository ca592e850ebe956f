// SPDX-License-Identifier: Apache-2.0
// CUDA without gpushare: original kernels, one stream per application, no scheduler. The baselines that a policy has to
// beat.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/engine/engine.hpp"
#include "cuda/code/program.hpp"

namespace gpushare::cuda {

enum class HardwareSharing {
  Serial,        ///< one application after the other, by arrival
  Streams,       ///< a stream each
  Priority,      ///< a stream each, of the priority given
  GreenContexts  ///< a stream each, confined to as many SMs as given
};

struct HardwareSetup {
  HardwareSharing sharing = HardwareSharing::Streams;
  std::vector<int> levels{};  ///< Priority: by application, 0 is the most urgent
  std::vector<int> sms{};     ///< GreenContexts: by application
};

/// The names of the launches that may be on the GPU.
using NamesOnGpu = std::function<std::vector<std::string>()>;
using HardwareHeartbeat = std::function<void(const NamesOnGpu& on_gpu)>;

/// Runs the workload and reports arrivals and ends of applications and operations to the observers (blocks are not
/// known). The heartbeat is called some times a second; an exception from it ends the run.
void run_on_hardware(const SharedContext& context, const Workload& workload, const Program& program,
                     const HardwareSetup& setup, std::span<RunObserver* const> observers,
                     const HardwareHeartbeat& heartbeat);

}  // namespace gpushare::cuda
