// SPDX-License-Identifier: Apache-2.0
// Launches without a GPU: the test says what their grids and their blocks do.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/launch_set.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare::test {

class FakeGrids final : public HardwareGrids {
 public:
  bool empty() const override { return count == 0; }
  bool had_any() const override { return started > 0; }
  bool have_ended() const override { return count == 0 || all_reached_their_end; }
  int level() const override { return level_in_use; }

  int count = 0;
  int started = 0;
  int level_in_use = 0;
  bool all_reached_their_end = false;
};

class FakeLaunch final : public GpuLaunch {
 public:
  FakeLaunch(const Device& device, const Submission& submission, const LaunchTraits& traits, ExecutionMode mode,
             std::vector<std::string>& log)
      : GpuLaunch(device, submission, traits, mode, grids_), log_(log), sms_(device.sms) {}

  ResidencyRequest request() const override {
    return {.block = traits().block,
            .wanted = share_.wanted(),
            .present = present,
            .unclaimed = has_ended() ? 0 : traits().blocks};
  }
  void grant(const ResidencyGrant& grant, Time /*now*/) override {
    granted = grant.workers;
    may_start = std::ranges::any_of(granted, [](int workers) { return workers > 0; }) ||
                (mode() == ExecutionMode::Original && !is_stopped());
    if (!may_start) log_.push_back("evict " + name());
  }
  bool wants_hardware(Time /*now*/) const override { return may_start && grids_.empty() && !has_ended(); }
  void hand_to_hardware(int level, Time now) override {
    log_.push_back("start " + name() + " at level " + std::to_string(level));
    grids_.count = 1;
    ++grids_.started;
    grids_.level_in_use = level;
    grids_.all_reached_their_end = false;
    since_ = now;
    take(LaunchStep::Started);
  }
  bool collect(Time now, std::vector<Event>& /*events*/) override {
    if (grids_.empty() || !grids_.all_reached_their_end) return false;
    grids_.count = 0;
    end_ = now;
    was_steady_ = true;
    take(LaunchStep::GridsEnded);
    if (has_all_done || is_withdrawn_) take(LaunchStep::Ended);
    return true;
  }
  void observe(Time /*seen*/, Time /*now*/, std::vector<Event>& events) override {
    for (const Event& event : std::exchange(found_by_poll, {})) events.push_back(event);
  }
  bool needs_poll() const override { return is_unsettled; }
  void submitted(Time /*now*/) override {}
  bool accepts_successor() const override { return may_be_followed && !successor_; }
  void queue_successor(const Submission& next, Time now) override {
    auto launch = std::make_unique<FakeLaunch>(*device, next, traits(), mode(), log_);
    launch->device = device;
    launch->present = std::vector<int>(static_cast<std::size_t>(sms_));
    launch->hand_to_hardware(grids_.level(), now);
    successor_ = std::move(launch);
  }

  /// Its grids have ended, with all blocks or not.
  void end_grids(bool all = true) {
    has_all_done = all;
    grids_.all_reached_their_end = true;
  }
  FakeGrids& fake_grids() { return grids_; }
  int sharers() const { return sharers_; }
  std::string name() const { return std::to_string(index(id())); }

  const Device* device = nullptr;
  std::vector<int> present;
  std::vector<int> granted;
  std::vector<Event> found_by_poll;
  bool may_start = false;
  bool has_all_done = false;
  bool is_unsettled = false;
  bool may_be_followed = false;

 private:
  FakeGrids grids_;
  std::vector<std::string>& log_;
  int sms_;
};

/// Makes fake launches of one application each, and remembers them by operation.
class FakeHardware final : public LaunchHardware {
 public:
  explicit FakeHardware(Device device = small_device(2)) : device_(std::move(device)) {
    traits.block = footprint(device_, {.threads = 32});
    traits.max_residency = max_residency(device_, {.threads = 32});
    traits.blocks = 1000;
    traits.has_worker = true;
  }

  const Device& device() const override { return device_; }
  KernelHistory& history() override { return history_; }
  int levels() const override { return 3; }
  std::optional<BlockNeeds> place_for_poll() const override { return std::nullopt; }

  std::unique_ptr<GpuLaunch> make(const Submission& submission) override {
    return make(submission, ExecutionMode::Worker);
  }
  std::unique_ptr<GpuLaunch> make_on_reserved_sms(const GpuLaunch& launch) override {
    return make(launch.submission(), ExecutionMode::Original);
  }
  std::unique_ptr<GpuLaunch> in_better_mode(const GpuLaunch& launch) override {
    if (launch.mode() == better_mode) return nullptr;
    return make(launch.submission(), better_mode);
  }

  static Submission submission(int operation, int application) {
    return {.id = OperationId{operation}, .application = ApplicationId{application}};
  }
  FakeLaunch& launch(int operation) { return *launches_.at(operation); }

  LaunchTraits traits;
  ExecutionMode better_mode = ExecutionMode::Worker;
  std::vector<std::string> log;

 private:
  std::unique_ptr<GpuLaunch> make(const Submission& submission, ExecutionMode mode) {
    auto launch = std::make_unique<FakeLaunch>(device_, submission, traits, mode, log);
    launch->device = &device_;
    launch->present = std::vector<int>(static_cast<std::size_t>(device_.sms));
    launches_[static_cast<int>(index(submission.id))] = launch.get();
    return launch;
  }

  Device device_;
  KernelHistory history_;
  std::map<int, FakeLaunch*> launches_;
};

}  // namespace gpushare::test
