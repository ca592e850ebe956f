// SPDX-License-Identifier: Apache-2.0
// The seam between applications and the device: an ordering decides which application's next operation may go, a
// sharing policy then where launches run. In the order of arrival every operation goes as soon as the one before it in
// its application has ended, and copies are served in the order in which they come.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/engine/devices/gpu_set.hpp"
#include "core/engine/devices/placement.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/gpu.hpp"

namespace gpushare {

class Ordering {
 public:
  virtual ~Ordering() = default;

  /// An application that may issue operations from now on. Ids are given in the order of these calls.
  virtual ApplicationId add(const Application& application) = 0;
  /// The application issues this operation after its earlier ones. The operation must stay in place until it is
  /// offered. Operations of a known workload are all issued at once, those of a session when they are submitted.
  virtual void issue(ApplicationId application, const Operation& operation) = 0;

  /// The application's first issued operation is ready: all before it have ended. Never two of one application.
  virtual void offer(const Submission& operation, Time now) = 0;
  /// All that the application has issued has ended, or has been given up. It may issue again.
  virtual void ended(ApplicationId application, Time now) = 0;
  /// Removes the application for good: none of its operations may be released any more. An operation of it that is on
  /// the device ends early, and its duration says nothing about such operations. ended() follows then, or at once if
  /// none is on the device; it is the last call about this application.
  virtual void withdraw(ApplicationId application) = 0;
  /// The new priority holds from now on.
  virtual void set_priority(ApplicationId application, int priority) = 0;
  /// The next operation to submit to the device, of those that have been offered; called until there is none. Called
  /// after all events at `now` have been delivered. Must release an operation if none is on the device.
  virtual std::optional<Submission> next(Time now) = 0;
  /// Will the operation that follows the one on the device be released as soon as it is offered, whatever happens until
  /// then, unless the application is withdrawn? If so, it may be announced to the device.
  virtual bool goes_on(ApplicationId application) const = 0;
  /// Is next() to be called only when all that happened at the same time is known? Otherwise it is called after every
  /// offer.
  virtual bool waits_for_all_offers() const { return true; }
};

/// Every operation goes when it is offered.
class ArrivalOrdering : public Ordering {
 public:
  ApplicationId add(const Application& /*application*/) override { return static_cast<ApplicationId>(applications_++); }
  void issue(ApplicationId /*application*/, const Operation& /*operation*/) override {}
  void offer(const Submission& operation, Time /*now*/) override { offered_ = operation; }
  void ended(ApplicationId /*application*/, Time /*now*/) override {}
  void withdraw(ApplicationId /*application*/) override {}
  void set_priority(ApplicationId /*application*/, int /*priority*/) override {}
  std::optional<Submission> next(Time /*now*/) override { return std::exchange(offered_, std::nullopt); }
  bool goes_on(ApplicationId /*application*/) const override { return true; }
  bool waits_for_all_offers() const override { return false; }

 private:
  std::int32_t applications_ = 0;
  std::optional<Submission> offered_;
};

/// Runs the workload as run() in engine.hpp does, but the ordering releases operations.
void run(Gpu& gpu, Policy& policy, const Workload& workload, std::span<RunObserver* const> observers,
         Ordering* ordering);

/// What one of several devices has of its own.
struct OnDevice {
  Policy* policy = nullptr;
  const Workload* workload = nullptr;  ///< the run's, with the kernels as they are on this device
  std::span<RunObserver* const> observers{};
  Ordering* ordering = nullptr;  ///< nullptr for the order of arrival
};

/// The same on several devices, of which each application has one at a time, as the placement decides.
void run(GpuSet& gpus, std::span<const OnDevice> devices, Placement& placement);

}  // namespace gpushare
