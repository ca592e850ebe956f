// SPDX-License-Identifier: Apache-2.0
// An open run on the simulated GPU that can be stopped between any two events, as a session is when somebody calls it.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "core/session/open_run/open_run.hpp"
#include "core/trace/trace_recorder.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare::test {

/// Returns to its caller after so many events.
class InterruptedGpu : public Gpu {
 public:
  InterruptedGpu(const Device& device, std::uint64_t seed) : gpu_(device, seed) {}

  void stop_after(int events) { left_ = events; }
  bool has_stopped() const { return left_ == 0; }
  Time now() const { return gpu_.now(); }

  const Device& device() const override { return gpu_.device(); }
  void submit(const Submission& submission) override { gpu_.submit(submission); }
  void apply(const Plan& plan) override { gpu_.apply(plan); }
  void admit(OperationId launch) override { gpu_.admit(launch); }
  void withdraw(OperationId operation) override { gpu_.withdraw(operation); }
  std::optional<Event> next_event(std::optional<Time> deadline) override {
    if (left_ == 0) return std::nullopt;
    auto event = gpu_.next_event(deadline);
    if (event) --left_;
    return event;
  }

 private:
  SimulatedGpu gpu_;
  int left_ = 0;
};

class InterruptedRun {
 public:
  InterruptedRun(const Device& device, std::string_view policy, std::uint64_t seed = 1,
                 EndedWork ended_work = EndedWork::IsKept)
      : gpu_(device, seed), policies_(1), observers_{&recorder_} {
    policies_.front() = make_policy(policy);
    run_ = std::make_unique<OpenRun>(gpu_, *policies_.front(), std::make_shared<OpenWork>(), observers_, ended_work);
  }

  OpenRun& run() { return *run_; }
  Time now() const { return gpu_.now(); }

  ApplicationId add(const std::string& name, int priority = 0) {
    return run_->add({.name = name, .priority = priority}, now());
  }
  OperationId submit(ApplicationId application, Operation operation) {
    return run_->submit(application, std::move(operation), now());
  }
  void hand_over(std::string_view policy) {
    policies_.push_back(make_policy(policy));
    run_->hand_over(*policies_.back(), now());
  }

  /// Goes on for so many events, or until everything has ended. False if it is stuck.
  bool advance(int events = 1 << 30) {
    constexpr int most_wake_ups = 1'000'000;
    gpu_.stop_after(events);
    for (int wake_ups = 0; wake_ups < most_wake_ups; ++wake_ups) {
      run_->advance();
      if (run_->is_idle() || gpu_.has_stopped()) return true;
      if (!run_->wake_at()) return false;
      run_->reach(now());
    }
    return false;
  }

  Workload close(Trace& trace) {
    trace = recorder_.take();
    return run_->close(trace).workload;
  }

 private:
  InterruptedGpu gpu_;
  std::vector<std::unique_ptr<Policy>> policies_;
  TraceRecorder recorder_;
  std::array<RunObserver*, 1> observers_;
  std::unique_ptr<OpenRun> run_;
};

}  // namespace gpushare::test
