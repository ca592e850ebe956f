// SPDX-License-Identifier: Apache-2.0
// What CUDA offers without gpushare: original kernels, one stream per application, no scheduler. The baselines that a
// policy has to beat.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/engine/engine.hpp"
#include "cuda/program.hpp"

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

/// Of the launches that may be there.
using NamesOnGpu = std::function<std::vector<std::string>()>;
using HardwareHeartbeat = std::function<void(const NamesOnGpu& on_gpu)>;

/// Runs the workload and tells the observers when applications and operations came and ended (nothing is known of
/// blocks). The heartbeat is called some times a second; what it throws ends the run.
void run_on_hardware(const SharedContext& context, const Workload& workload, const Program& program,
                     const HardwareSetup& setup, std::span<RunObserver* const> observers,
                     const HardwareHeartbeat& heartbeat);

}  // namespace gpushare::cuda
