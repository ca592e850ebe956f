// SPDX-License-Identifier: Apache-2.0
// Several GPUs in one virtual time. Each advances by itself up to the next change of any other one, so that nothing
// that happens on one of them comes too late for the others.
#pragma once

#include <deque>
#include <span>

#include "core/engine/devices/gpu_set.hpp"
#include "core/simulation/simulated_gpu.hpp"

namespace gpushare {

class SimulatedGpuSet : public GpuSet {
 public:
  /// Blocks of one seed take the same work on every device.
  SimulatedGpuSet(std::span<const Device> devices, std::uint64_t seed);

  std::size_t size() const override { return gpus_.size(); }
  SimulatedGpu& at(DeviceId device) override { return gpus_.at(index(device)); }
  std::optional<DeviceEvent> next_event(std::optional<Time> deadline) override;

 private:
  std::deque<SimulatedGpu> gpus_;  // by DeviceId
};

}  // namespace gpushare
