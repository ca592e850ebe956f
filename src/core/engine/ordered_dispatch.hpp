// SPDX-License-Identifier: Apache-2.0
// Passes operations that are ready to the device: at once, or when the ordering releases them. Runs of known work and
// of work that is submitted during the run share it.
#pragma once

#include "core/engine/dispatcher.hpp"
#include "core/engine/ordering.hpp"

namespace gpushare {

/// The applications' streams of operations.
class OperationSource {
 public:
  virtual ~OperationSource() = default;
  /// The operation that will be ready as soon as the one on the device has ended; none where that is not known. It is
  /// announced to the device.
  virtual std::optional<Submission> following(ApplicationId application) = 0;
  /// Called when the operation is submitted to the device.
  virtual void going(const Submission& /*operation*/) {}
};

/// The way of operations to the device. Under ArrivalOrdering they go when they are offered.
class OrderedDispatch {
 public:
  /// `ordering`: nullptr for the order of arrival.
  OrderedDispatch(Gpu& gpu, Dispatcher& dispatcher, OperationSource& source, Ordering* ordering)
      : gpu_(gpu), dispatcher_(dispatcher), source_(source), ordering_(ordering != nullptr ? *ordering : by_arrival_) {}
  OrderedDispatch(const OrderedDispatch&) = delete;
  OrderedDispatch& operator=(const OrderedDispatch&) = delete;

  /// The ordering's add() and issue().
  void add(const Application& application, ApplicationId expected);
  void issue(ApplicationId application, const Operation& operation);
  /// Every earlier operation of the application has ended.
  void offer(const Submission& operation);
  void ended(ApplicationId application);
  void withdraw(ApplicationId application);
  void set_priority(ApplicationId application, int priority);

  /// Releases operations. To be called after all events of this time have been delivered, so that the ordering has seen
  /// every application that arrives at the same time.
  void let_go();
  /// Announces the operation that follows the application's present one to the device, if its release is sure.
  void announce_following(ApplicationId application);

 private:
  void go(const Submission& operation);

  Gpu& gpu_;
  Dispatcher& dispatcher_;
  OperationSource& source_;
  ArrivalOrdering by_arrival_;
  Ordering& ordering_;
  bool has_news_ = false;  // blocks are none of the ordering's business
};

}  // namespace gpushare
