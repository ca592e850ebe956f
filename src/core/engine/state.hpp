// SPDX-License-Identifier: Apache-2.0
// A policy's knowledge: the device, the clock of the run, and the progress of every launch that has arrived and not
// ended. State is a fold over events; nothing else changes it, so a recorded trace rebuilds it exactly.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/engine/event.hpp"
#include "core/model/workload.hpp"

namespace gpushare {

/// The progress of one launch on one SM (SRTF, Table 1).
struct SmProgress {
  int resident = 0;
  std::int64_t done = 0;
  Duration active_before{};  ///< time with at least one resident block, up to the last time there was none
  Time active_since{};       ///< valid while resident > 0

  Duration active(Time now) const { return resident > 0 ? active_before + (now - active_since) : active_before; }
};

/// A launch that has arrived and not ended.
struct RunningLaunch {
  OperationId id{};
  ApplicationId application{};
  const Launch* launch = nullptr;
  Time arrival{};
  int priority = 0;
  double weight = 1;
  int max_residency = 0;  ///< R: blocks per SM when it has the SM to itself
  std::int64_t started = 0;
  std::int64_t done = 0;
  std::int64_t elsewhere = 0;  ///< blocks that other devices are expected to run, or have run
  std::vector<SmProgress> per_sm;

  /// The blocks of its grid.
  std::int64_t blocks() const { return launch->blocks; }
  /// Those that are expected to run here.
  std::int64_t here() const { return std::max(launch->blocks - elsewhere, started); }
  std::int64_t unstarted() const { return here() - started; }
  std::int64_t unfinished() const { return here() - done; }
};

class State {
 public:
  /// For work that is known beforehand: an oracle can foresee its arrivals.
  State(const Device& device, const Workload& workload);
  /// For work that is submitted during the run, through add().
  explicit State(const Device& device) : device_(&device) {}

  /// Ids are given in the order of these calls, and never reused. An operation must outlive the state, at the same
  /// address.
  ApplicationId add(std::shared_ptr<const Application> application);
  OperationId add(const Operation& operation);

  /// An application that has ended is no longer known: nothing may name it from now on.
  void forget(ApplicationId application) { applications_.erase(application); }

  /// The same world, before anything has happened in it.
  State before_all_events() const;

  Time now() const { return now_; }
  const Device& device() const { return *device_; }
  int sms() const { return device_->sms; }
  const Application& application(ApplicationId id) const { return *applications_.at(id).application; }
  /// In order of arrival.
  std::span<const RunningLaunch> running() const { return running_; }
  std::size_t operation_count() const { return operations_.size(); }
  /// The launch, or nullptr before its arrival and after its end.
  const RunningLaunch* find(OperationId launch) const;

  /// The first launches of the applications that will arrive within this time. Only an oracle has such foresight; in an
  /// open session the list is empty.
  std::vector<const Launch*> first_launches_arriving_within(Duration window) const;

  /// The present priority: it may have changed since the application's arrival.
  int priority(ApplicationId id) const { return applications_.at(id).priority; }

  void update(const Event& event);

 private:
  struct ApplicationState {
    std::shared_ptr<const Application> application;
    int priority = 0;
    bool has_arrived = false;
  };

  void arrive(const Event& event);
  void end(OperationId launch);
  void change_priority(ApplicationId application, int priority);
  RunningLaunch& at(OperationId launch);

  const Device* device_;
  std::map<ApplicationId, ApplicationState> applications_;  // but for the forgotten
  std::int32_t next_application_ = 0;
  std::vector<const Operation*> operations_;  // by OperationId
  std::vector<int> position_;                 // by OperationId: index in running_, or -1
  std::vector<RunningLaunch> running_;
  Time now_{};
};

}  // namespace gpushare
