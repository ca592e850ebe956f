// SPDX-License-Identifier: Apache-2.0
// Open runs under an ordering, which can be stopped between any two events; by hand, and by the dice.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "attentive_gpu.hpp"
#include "core/model/errors.hpp"
#include "core/ordering/ordering_registry.hpp"
#include "core/policies/registry.hpp"
#include "core/session/open_run/open_run.hpp"
#include "core/session/session_status.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"
#include "trace_promises.hpp"

namespace gpushare::test {

/// A trace to look at while it grows.
class GrowingTrace : public RunObserver {
 public:
  void saw(const Event& event) override { trace.events.push_back(event); }
  void decided(const Plan& plan) override { trace.decisions.push_back({trace.events.size() - 1, plan}); }

  Trace trace;
};

class OrderedSession {
 public:
  /// No ordering: "".
  OrderedSession(const std::string& ordering, const Device& device, const std::string& policy = "fifo",
                 std::uint64_t seed = 1)
      : device_(device),
        gpu_(device, seed),
        ordering_(ordering.empty() ? nullptr : make_ordering(ordering, device_)),
        policy_(make_policy(policy)),
        run_(gpu_, *policy_, std::make_shared<OpenWork>(), observers_, EndedWork::IsKept, ordering_.get()) {}

  OpenRun& run() { return run_; }
  Time now() const { return gpu_.now(); }
  const Trace& trace() const { return recorder_.trace; }

  ApplicationId add(int priority = 0) {
    return run_.add({.name = std::to_string(run_.streams().size()), .priority = priority}, now());
  }
  void submit(ApplicationId application, const std::vector<Operation>& operations) {
    for (const Operation& each : operations) run_.submit(application, each, now());
  }
  std::vector<OperationId> withdraw(ApplicationId application) { return run_.withdraw(application, now()); }

  /// Goes on for so many events, or until everything has ended. False if it is stuck.
  bool advance(int events = 1 << 30) {
    gpu_.stop_after(events);
    for (int wake_ups = 0; wake_ups < 100'000; ++wake_ups) {
      run_.advance();
      if (run_.is_idle() || gpu_.has_stopped()) return true;
      if (!run_.wake_at()) return false;
      run_.reach(now());
    }
    return false;
  }

  /// Operations in the order in which they went to the device.
  std::vector<int> begun() const {
    std::vector<int> operations;
    for (const Event& event : trace().events) {
      const bool begins = event.kind == EventKind::LaunchArrived || event.kind == EventKind::CopyStarted;
      if (begins) operations.push_back(static_cast<int>(event.operation));
    }
    return operations;
  }
  std::vector<int> announced() const {
    std::vector<int> operations;
    for (const OperationId each : gpu_.announced()) operations.push_back(static_cast<int>(each));
    return operations;
  }
  std::int64_t end_of(int operation) const { return test::end_of(trace(), operation); }

 private:
  Device device_;
  AttentiveGpu gpu_;
  std::unique_ptr<Ordering> ordering_;
  std::unique_ptr<Policy> policy_;
  GrowingTrace recorder_;
  std::array<RunObserver*, 1> observers_{&recorder_};
  OpenRun run_;
};

/// Applications that come, issue tasks and parts of tasks, change their priority and go, at any moment.
class RandomSession {
 public:
  RandomSession(const std::string& ordering, const std::string& policy, std::uint64_t seed)
      : dice_(seed), device_(device_of(dice_)), session_(ordering, device_, policy, seed) {
    for (int number = dice_.between(1, 4); number > 0; --number) come();
  }

  void run() {
    for (int left = dice_.between(3, 20); left > 0; --left) {
      ASSERT_TRUE(session_.advance(dice_.between(0, 40))) << session_.run().waiting();
      happen();
    }
    ASSERT_TRUE(session_.advance()) << session_.run().waiting();
  }

  const Trace& trace() const { return session_.trace(); }

  void check() {
    EXPECT_TRUE(session_.run().is_idle());
    const std::vector<int> begun = session_.begun();
    for (std::size_t id = 0; id < issued_.size(); ++id) {
      std::vector<int> its;
      for (const int each : begun) {
        if (session_.run().owner(operation(each)) == static_cast<ApplicationId>(id)) its.push_back(each);
      }
      its.insert(its.end(), dropped_[id].begin(), dropped_[id].end());
      EXPECT_EQ(its, issued_[id]) << "in its order, each once, those that were dropped last";
      for (const int each : begun) EXPECT_GE(session_.end_of(each), 0);
    }
    Trace trace = session_.trace();
    const Workload workload = session_.run().close(trace).workload;
    expect_time_moves_forward(trace);
    expect_no_overcommitment(trace, device_, workload);
    // A launch that waits in hardware takes over a place before the plan that knows of it has arrived.
    if (device_.delays.follow == Duration::zero()) expect_quotas_kept(trace, device_, workload);
  }

 private:
  static Device device_of(Dice& dice) {
    Device device = random_device(dice);
    if (dice.once_in(2)) device.delays = random_delays(dice);
    if (dice.once_in(2)) device.delays.follow = Duration(dice.between(1, 300));
    return device;
  }

  ApplicationId somebody() {
    return static_cast<ApplicationId>(dice_.between(0, static_cast<int>(issued_.size()) - 1));
  }

  void come() {
    const ApplicationId id = session_.add(dice_.between(0, 3));
    issued_.emplace_back();
    dropped_.emplace_back();
    issue(id);
  }

  void issue(ApplicationId application) {
    if (session_.run().is_withdrawn(application)) return;
    for (int left = dice_.between(1, 5); left > 0; --left) {
      session_.submit(application, {random_operation(dice_, device_)});
      issued_[index(application)].push_back(operations_++);
    }
  }

  void happen() {
    const ApplicationId who = somebody();
    const int what = dice_.between(0, 9);
    if (what < 2) {
      for (const OperationId each : session_.withdraw(who)) dropped_[index(who)].push_back(static_cast<int>(each));
    } else if (what == 2) {
      session_.run().set_priority(who, dice_.between(0, 9), session_.now());
    } else if (what < 5) {
      come();
    } else {
      issue(who);
    }
  }

  Dice dice_;
  Device device_;
  OrderedSession session_;
  std::vector<std::vector<int>> issued_;   // by application
  std::vector<std::vector<int>> dropped_;  // likewise
  int operations_ = 0;
};

}  // namespace gpushare::test
