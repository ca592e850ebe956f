// SPDX-License-Identifier: Apache-2.0
// Runs a workload on several simulated GPUs and answers where its applications were.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/engine/ordering.hpp"
#include "core/placements/registry.hpp"
#include "core/policies/registry.hpp"
#include "core/simulation/simulated_gpu_set.hpp"
#include "core/trace/device_events.hpp"
#include "core/trace/trace_recorder.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare::test {

/// A placement that is one function of the state.
class ScriptedPlacement : public Placement {
 public:
  explicit ScriptedPlacement(std::function<std::vector<int>(const PlacementState&)> decide)
      : decide_(std::move(decide)) {}
  std::vector<DeviceId> decide(const PlacementState& state) override {
    std::vector<DeviceId> devices;
    for (const int device : decide_(state)) devices.push_back(static_cast<DeviceId>(device));
    return devices;
  }

 private:
  std::function<std::vector<int>(const PlacementState&)> decide_;
};

inline std::vector<int> sms_of(const std::vector<Device>& devices) {
  std::vector<int> sms;
  for (const Device& each : devices) sms.push_back(each.sms);
  return sms;
}

inline Trace record_placed(const std::vector<Device>& devices, const Workload& workload, Placement& placement,
                           std::string_view policy = "fifo", std::uint64_t seed = 1) {
  SimulatedGpuSet gpus(devices, seed);
  TraceRecorder recorder;
  std::deque<DeviceEvents> numbered;
  std::deque<RunObserver*> observers;
  std::vector<std::unique_ptr<Policy>> policies;
  std::deque<Workload> workloads;  // the devices may differ
  std::vector<OnDevice> on;
  int first_sm = 0;
  for (const Device& each : devices) {
    observers.push_back(&numbered.emplace_back(recorder, first_sm));
    policies.push_back(make_policy(policy));
    on.push_back({.policy = policies.back().get(),
                  .workload = &workloads.emplace_back(workload),
                  .observers = std::span(&observers.back(), 1)});
    first_sm += each.sms;
  }
  run(gpus, on, placement);
  return recorder.take();
}

inline Trace record_placed(const std::vector<Device>& devices, const Workload& workload, std::string_view placement,
                           std::string_view policy = "fifo", std::uint64_t seed = 1) {
  return record_placed(devices, workload, *make_placement(placement), policy, seed);
}

/// A stay of an application on a device, in nanoseconds.
struct Stayed {
  int device = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const Stayed&, const Stayed&) = default;
};

inline std::vector<Stayed> stays_of(const Trace& trace, int application, const std::vector<Device>& devices) {
  std::vector<Stayed> stays;
  const std::vector<Trace> by_device = traces_by_device(trace, sms_of(devices));
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    for (const Event& event : by_device[device].events) {
      if (event.application != static_cast<ApplicationId>(application)) continue;
      if (event.kind == EventKind::ApplicationArrived) {
        stays.push_back({.device = static_cast<int>(device), .begin = ns(event.time)});
      } else if (event.kind == EventKind::ApplicationEnded) {
        stays.back().end = ns(event.time);
      }
    }
  }
  std::ranges::sort(stays, {}, [](const Stayed& each) { return std::pair(each.begin, each.end); });
  return stays;
}

/// The devices on which the applications began, in their order.
inline std::vector<int> first_devices(const Trace& trace, const std::vector<Device>& devices, int applications) {
  std::vector<int> first;
  for (int application = 0; application < applications; ++application) {
    first.push_back(stays_of(trace, application, devices).front().device);
  }
  return first;
}

inline std::vector<Device> small_devices(std::size_t count, std::int64_t memory = 0) {
  Device device = small_device();
  device.memory = Bytes{memory};
  return std::vector<Device>(count, device);
}

inline Workload with_bytes(Workload workload, const std::vector<std::int64_t>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) workload.applications[i].memory = Bytes{bytes[i]};
  return workload;
}

/// Launches that follow one another in one application.
inline Application in_sequence(std::string name, const Launch& launch, std::size_t count) {
  return application_of(std::move(name), std::vector<Operation>(count, launch));
}

}  // namespace gpushare::test
