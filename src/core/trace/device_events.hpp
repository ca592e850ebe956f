// SPDX-License-Identifier: Apache-2.0
// One trace for several devices: SMs are numbered through all devices, and every event has an SM of its device. So the
// trace of one device is as it always was, and what reads traces needs to know of no devices.
#pragma once

#include <vector>

#include "core/engine/engine.hpp"

namespace gpushare {

/// Shows the events of one device to an observer of all of them.
class DeviceEvents : public RunObserver {
 public:
  /// `first_sm`: the number of SMs that the devices before it have.
  DeviceEvents(RunObserver& all, int first_sm) : all_(all), first_sm_(first_sm) {}

  void saw(const Event& event) override {
    Event numbered = event;
    numbered.sm = static_cast<SmId>(static_cast<int>(event.sm) + first_sm_);
    all_.saw(numbered);
  }
  void decided(const Plan& plan) override { all_.decided(plan); }

 private:
  RunObserver& all_;
  int first_sm_;
};

/// The trace of each device by itself. `sms`: by device, the number of its SMs.
std::vector<Trace> traces_by_device(const Trace& trace, const std::vector<int>& sms);

}  // namespace gpushare
