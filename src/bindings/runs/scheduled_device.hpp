// SPDX-License-Identifier: Apache-2.0
// One device of a run on several: its policy and ordering, and what observes them.
#pragma once

#include <deque>

#include "bindings/arguments.hpp"
#include "bindings/runs/run_record.hpp"
#include "core/engine/ordering.hpp"
#include "core/model/errors.hpp"
#include "core/ordering/ordering_registry.hpp"
#include "core/trace/device_events.hpp"
#include "core/trace/trace_recorder.hpp"

namespace gpushare::bindings {

struct ScheduledDevice {
  /// `world` owns the device and the workload; `devices`: how many the run has.
  ScheduledDevice(const std::shared_ptr<const void>& world, const Device& device, const Workload& workload,
                  const py::object& policy, std::uint64_t seed, std::size_t devices)
      : meter(device, workload) {
    const auto [ordering_name, sharing] = in_two_parts(policy);
    require(ordering_name == "arrival" || devices == 1, "'" + ordering_name +
                                                            "' orders the work of one device, and this run has " +
                                                            std::to_string(devices) + ": name the policy alone");
    decides = to_policy(sharing, world, seed);
    ordering = make_ordering(ordering_name, device, workload);
  }

  std::unique_ptr<Policy> decides;
  std::unique_ptr<Ordering> ordering;
  UsageMeter meter;
  std::optional<DeviceEvents> numbered{};
  std::vector<RunObserver*> observers{};
};

/// All devices of a run.
class ScheduledDevices {
 public:
  explicit ScheduledDevices(bool record_trace) {
    if (record_trace) recorder_.emplace();  // its memory costs as much time as a short run
  }

  /// Another one, which these observe beside the meter.
  void add(const std::shared_ptr<const void>& world, const Device& device, const Workload& workload,
           const py::object& policy, std::uint64_t seed, std::size_t devices, std::vector<RunObserver*> observers) {
    ScheduledDevice& added = scheduled_.emplace_back(world, device, workload, policy, seed, devices);
    added.observers = {&added.meter};
    added.observers.insert(added.observers.end(), observers.begin(), observers.end());
    if (recorder_) added.observers.push_back(&added.numbered.emplace(*recorder_, first_sm_));
    on_.push_back({.policy = added.decides.get(),
                   .workload = &workload,
                   .observers = added.observers,
                   .ordering = added.ordering.get()});
    first_sm_ += device.sms;
  }

  std::span<const OnDevice> on() const { return on_; }

  /// After the run.
  RunRecord take_record() {
    std::vector<UsageMeter> meters;
    for (ScheduledDevice& each : scheduled_) meters.push_back(std::move(each.meter));
    RunRecord record = record_of(meters);
    if (recorder_) record.trace = recorder_->take();
    return record;
  }

 private:
  std::optional<TraceRecorder> recorder_;
  std::deque<ScheduledDevice> scheduled_;
  std::vector<OnDevice> on_;
  int first_sm_ = 0;
};

}  // namespace gpushare::bindings
