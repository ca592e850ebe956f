// SPDX-License-Identifier: Apache-2.0
// The devices of a run. Their events come in one order, so that one loop serves all of them.
#pragma once

#include <optional>

#include "core/engine/gpu.hpp"

namespace gpushare {

struct DeviceEvent {
  DeviceId device{};
  Event event;
};

class GpuSet {
 public:
  virtual ~GpuSet() = default;

  virtual std::size_t size() const = 0;
  virtual Gpu& at(DeviceId device) = 0;

  /// As Gpu::next_event(), of the device on which something happens first; of several, the first in their order. All
  /// devices have then reached that time, so that any of them can be given work.
  virtual std::optional<DeviceEvent> next_event(std::optional<Time> deadline) = 0;
};

class OneGpu : public GpuSet {
 public:
  explicit OneGpu(Gpu& gpu) : gpu_(gpu) {}

  std::size_t size() const override { return 1; }
  Gpu& at(DeviceId /*device*/) override { return gpu_; }
  std::optional<DeviceEvent> next_event(std::optional<Time> deadline) override {
    const std::optional<Event> event = gpu_.next_event(deadline);
    if (!event) return std::nullopt;
    return DeviceEvent{.event = *event};
  }

 private:
  Gpu& gpu_;
};

}  // namespace gpushare
