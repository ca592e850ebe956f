// SPDX-License-Identifier: Apache-2.0
// Several GPUs under one engine, in one thread and with one clock. Each is polled in turn, with its context current.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/engine/devices/gpu_set.hpp"
#include "cuda/cuda_gpu.hpp"

namespace gpushare::cuda {

/// What a run needs of one GPU.
struct GpuOfSet {
  GpuResources* resources = nullptr;
  const Program* program = nullptr;
};

class CudaGpuSet final : public GpuSet {
 public:
  /// Throws InvalidInput while another run is on one of them.
  explicit CudaGpuSet(std::span<const GpuOfSet> gpus);
  ~CudaGpuSet() override;

  std::size_t size() const override { return gpus_.size(); }
  Gpu& at(DeviceId device) override;
  std::optional<DeviceEvent> next_event(std::optional<Time> deadline) override;

  /// As for one (CudaGpu).
  void set_heartbeat(const std::function<void()>& heartbeat);
  void stop(Duration patience);
  const CudaGpu& gpu(std::size_t device) const;
  std::chrono::steady_clock::time_point began() const { return clock_.began(); }

 private:
  class InContext;

  WallClock clock_;
  std::vector<std::unique_ptr<InContext>> gpus_;  // by DeviceId
};

}  // namespace gpushare::cuda
