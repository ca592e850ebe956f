// SPDX-License-Identifier: Apache-2.0
// The way of an operation that is ready to the device: at once, or when the ordering lets it. Runs of known work and of
// work that comes in by and by share it.
#pragma once

#include "core/engine/dispatcher.hpp"
#include "core/engine/ordering.hpp"

namespace gpushare {

/// Whose operations they are.
class OperationSource {
 public:
  virtual ~OperationSource() = default;
  /// What will be ready as soon as the operation that the application has on the device has ended; none where that is
  /// not known.
  virtual std::optional<Submission> following(ApplicationId application) const = 0;
  /// The operation goes to the device now.
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

  /// As the ordering's: an application, and what it wants.
  void add(const Application& application, ApplicationId expected);
  void issue(ApplicationId application, const Operation& operation);
  /// Of the next operation of an application everything before it has ended.
  void offer(const Submission& operation);
  void ended(ApplicationId application);
  void withdraw(ApplicationId application);
  void set_priority(ApplicationId application, int priority);

  /// To be called when all that happened at this time has been told, so that the ordering knows of everybody who has
  /// come at the same time.
  void let_go();
  /// Tells the device what follows the operation that the application has there, if it is sure to.
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
