// SPDX-License-Identifier: Apache-2.0
// The way of an operation that is ready to the device: at once, or when the ordering lets it. Runs of known work and of
// work that comes in by and by share it.
#pragma once

#include "core/engine/dispatcher.hpp"
#include "core/engine/ordering.hpp"

namespace gpushare {

/// The applications' streams of operations.
class OperationSource {
 public:
  virtual ~OperationSource() = default;
  /// What will be ready as soon as the operation that the application has on the device has ended; none where that is
  /// not known.
  virtual std::optional<Submission> following(ApplicationId application) const = 0;
  /// The operation goes to the device now.
  virtual void going(const Submission& /*operation*/) {}
};

/// Without an ordering operations go when they are offered, and nothing else happens here.
class OrderedDispatch {
 public:
  OrderedDispatch(Gpu& gpu, Dispatcher& dispatcher, OperationSource& source, Ordering* ordering)
      : gpu_(gpu), dispatcher_(dispatcher), source_(source), ordering_(ordering) {}

  /// As the ordering's: an application, and what it wants.
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
  /// Tells the device what follows the operation that the application has there, if it is sure to.
  void announce_following(ApplicationId application);

 private:
  void go(const Submission& operation);

  Gpu& gpu_;
  Dispatcher& dispatcher_;
  OperationSource& source_;
  Ordering* ordering_;
  bool has_news_ = false;  // blocks are none of the ordering's business
};

}  // namespace gpushare
