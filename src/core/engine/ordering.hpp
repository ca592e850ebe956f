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

#include "core/engine/engine.hpp"
#include "core/engine/gpu.hpp"

namespace gpushare {

class Ordering {
 public:
  virtual ~Ordering() = default;

  /// An application that may issue operations from now on. Ids are given in the order of these calls.
  virtual ApplicationId add(const Application& application) = 0;
  /// The application will want this after what it has issued before. The operation must stay where it is until it is
  /// offered. Of a known workload all is issued at once, in a session when it comes in.
  virtual void issue(ApplicationId application, const Operation& operation) = 0;

  /// What the application has issued first is ready: whatever was before it has ended. Never two of one application.
  virtual void offer(const Submission& operation, Time now) = 0;
  /// All that the application has issued has ended, or will never be wanted any more. It may issue again.
  virtual void ended(ApplicationId application, Time now) = 0;
  /// The application goes for good: nothing more of it may go to the device. What it has there ends sooner than it
  /// would have, and tells nothing of how long such an operation takes; ended() follows then, or at once if there is
  /// nothing, and after that nobody says anything of it any more.
  virtual void withdraw(ApplicationId application) = 0;
  /// From now on.
  virtual void set_priority(ApplicationId application, int priority) = 0;
  /// The next operation that may go to the device, of those that have been offered; asked until there is none. Called
  /// when everything that happened at `now` has been told. Must let something go if nothing is on the device.
  virtual std::optional<Submission> next(Time now) = 0;
  /// Of an application whose operation is on the device: is what it has issued behind that sure to go as soon as it is
  /// offered, whatever happens until then, unless the application is withdrawn? If so, it may be announced to the
  /// device.
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

/// Runs the workload as run() in engine.hpp does, but operations go when the ordering lets them.
void run(Gpu& gpu, Policy& policy, const Workload& workload, std::span<RunObserver* const> observers,
         Ordering* ordering);

}  // namespace gpushare
