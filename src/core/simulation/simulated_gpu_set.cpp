// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/simulated_gpu_set.hpp"

#include "core/model/errors.hpp"

namespace gpushare {

SimulatedGpuSet::SimulatedGpuSet(std::span<const Device> devices, std::uint64_t seed) {
  require(!devices.empty(), "a run needs at least one device");
  for (const Device& device : devices) gpus_.emplace_back(device, seed);
}

std::optional<DeviceEvent> SimulatedGpuSet::next_event(std::optional<Time> deadline) {
  const double limit = deadline ? nanoseconds(*deadline) : EarliestOf::never;
  while (true) {
    std::size_t first = 0;
    double next = EarliestOf::never;  // on the first device
    double next_elsewhere = limit;
    for (std::size_t device = 0; device < gpus_.size(); ++device) {
      const double time = gpus_[device].time_of_next_change();
      if (time < next) {
        next_elsewhere = std::min(next_elsewhere, next);
        next = time;
        first = device;
      } else {
        next_elsewhere = std::min(next_elsewhere, time);
      }
    }
    const auto event = gpus_[first].next_event_within(next_elsewhere);
    const bool is_over = next > limit || next == EarliestOf::never;
    const double reached = is_over ? limit : gpus_[first].exact_time();
    if (reached != EarliestOf::never) {
      for (SimulatedGpu& gpu : gpus_) gpu.pass(reached);
    }
    if (event) return DeviceEvent{.device = static_cast<DeviceId>(first), .event = *event};
    if (is_over) return std::nullopt;
  }
}

}  // namespace gpushare
