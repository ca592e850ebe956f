// SPDX-License-Identifier: Apache-2.0
// Hardware counters of one launch, by CUPTI's range profiler. As long as a Profiler lives, CUPTI watches the context
// and slows launches down, so nothing else is measured meanwhile.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/code/program.hpp"
#include "cuda/launch/gpu_resources.hpp"

namespace gpushare::cuda {

struct CuptiParts;  // profiler.cpp

class Profiler {
 public:
  /// Schedules the metrics, by CUPTI's names. Throws CudaError where CUPTI or the permission is missing, or where this
  /// GPU has no such metric.
  Profiler(GpuResources& resources, const std::string& library_path, std::vector<std::string> metrics);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// How often the launch has to run: the hardware has a limited number of counters at a time.
  std::size_t passes() const;

  /// Runs the original kernel once and waits for it. True once all passes have been made; before each one, the data
  /// must be what it was before the first.
  bool run(const DeviceLaunch& launch);

  /// By metric, after the last pass.
  std::vector<double> values() const;

 private:
  std::unique_ptr<CuptiParts> parts_;
};

}  // namespace gpushare::cuda
