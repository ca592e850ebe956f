// SPDX-License-Identifier: Apache-2.0
// The simulated GPU, which holds its caller to what was announced: it comes next in its application, at the instant in
// which the operation before it ends.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/simulation/simulated_gpu.hpp"

namespace gpushare::test {

class AttentiveGpu : public Gpu {
 public:
  AttentiveGpu(const Device& device, std::uint64_t seed) : gpu_(device, seed) {}

  /// Does not tell the device.
  void ignore_announcements() { ignores_ = true; }
  /// By OperationId.
  const std::set<OperationId>& announced() const { return all_announced_; }
  Time now() const { return gpu_.now(); }
  /// Returns to its caller after so many events.
  void stop_after(int events) { left_ = events; }
  bool has_stopped() const { return left_ == 0; }

  const Device& device() const override { return gpu_.device(); }
  void submit(const Submission& submission) override {
    EXPECT_TRUE(under_way_.try_emplace(submission.application, submission.id).second)
        << "two operations of one application";
    if (const auto next = announced_.find(submission.application); next != announced_.end()) {
      EXPECT_EQ(next->second, submission.id) << "another operation was announced";
      announced_.erase(next);
    }
    due_.erase(submission.application);
    gpu_.submit(submission);
  }
  void announce(const Submission& next) override {
    EXPECT_TRUE(under_way_.contains(next.application)) << "announced behind nothing";
    announced_[next.application] = next.id;
    all_announced_.insert(next.id);
    if (!ignores_) gpu_.announce(next);
  }
  void apply(const Plan& plan) override { gpu_.apply(plan); }
  void admit(OperationId launch) override { gpu_.admit(launch); }
  void withdraw(OperationId operation) override {
    for (const auto& [application, present] : under_way_) {
      if (present == operation) announced_.erase(application);
    }
    gpu_.withdraw(operation);
  }
  std::optional<Event> next_event(std::optional<Time> deadline) override {
    EXPECT_TRUE(due_.empty()) << "what was announced has not come";
    if (left_ == 0) return std::nullopt;
    auto event = gpu_.next_event(deadline);
    if (event) --left_;
    if (!event || (event->kind != EventKind::LaunchEnded && event->kind != EventKind::CopyEnded)) return event;
    under_way_.erase(event->application);
    if (announced_.contains(event->application)) due_.insert(event->application);
    return event;
  }

 private:
  SimulatedGpu gpu_;
  bool ignores_ = false;
  int left_ = std::numeric_limits<int>::max();
  std::map<ApplicationId, OperationId> under_way_;
  std::set<ApplicationId> due_;  // whose operation has ended, with another one announced behind it
  std::map<ApplicationId, OperationId> announced_;
  std::set<OperationId> all_announced_;
};

}  // namespace gpushare::test
