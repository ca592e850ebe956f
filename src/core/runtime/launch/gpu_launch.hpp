// SPDX-License-Identifier: Apache-2.0
// One launch of the workload on a real GPU, in one of the execution modes. This class holds what is the same in all of
// them: the launch, its share, its phase, its progress, and the successor that waits in hardware behind it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/engine/gpu.hpp"
#include "core/residency/residency_request.hpp"
#include "core/runtime/launch/hardware_grids.hpp"
#include "core/runtime/launch/kernel_history.hpp"
#include "core/runtime/launch/launch_phase.hpp"
#include "core/runtime/launch/share_on_sms.hpp"
#include "core/runtime/launch/shared_grid.hpp"
#include "core/workers/worker_progress.hpp"

namespace gpushare {

/// What a launch is to the hardware, in every mode.
struct LaunchTraits {
  KernelId kernel{};
  bool has_worker = false;  ///< for such a block and such a grid
  std::int64_t blocks = 0;
  BlockFootprint block{};
  int max_residency = 0;
  Bytes split{};  ///< how it wants an SM's L1 cache divided
  /// The grid of several devices that it belongs to: it runs as workers then, and perhaps not all blocks.
  GridPart* part = nullptr;
};

class GpuLaunch {
 public:
  /// `grids` belongs to the mode.
  GpuLaunch(const Device& device, const Submission& submission, const LaunchTraits& traits, ExecutionMode mode,
            const HardwareGrids& grids);
  virtual ~GpuLaunch() = default;
  GpuLaunch(const GpuLaunch&) = delete;
  GpuLaunch& operator=(const GpuLaunch&) = delete;

  const Submission& submission() const { return submission_; }
  OperationId id() const { return submission_.id; }
  const LaunchTraits& traits() const { return traits_; }
  ExecutionMode mode() const { return mode_; }
  /// Does it run in its original form only because it ends before it could be stopped?
  bool is_brief() const { return is_brief_; }
  const HardwareGrids& grids() const { return grids_; }
  LaunchPhase phase() const { return phase_; }
  bool has_begun() const { return phase_ != LaunchPhase::Queued; }
  bool has_ended() const { return phase_ == LaunchPhase::Ended; }
  /// When the last block ended. Requires has_ended().
  Time end() const { return end_; }

  const ShareOnSms& share() const { return share_; }
  int rank() const { return share_.rank(); }
  /// Does the policy give it nothing?
  bool is_stopped() const { return share_.is_empty(); }
  /// Sets the policy's share from now on.
  void set_share(const Share& share, int rank);
  void set_share(const ShareOnSms& share) { share_ = share; }
  /// So many launches have a share now, this one included: each may have to wait for the others on the hardware.
  void shared_by(int launches) { sharers_ = std::max(sharers_, launches); }
  /// Its workers leave, and none come, whatever the policy wants, until it gets a new grant.
  void evict(Time now);
  /// No more of it starts from now on, whatever the policy wants.
  void withdraw(Time now);
  /// Is it to be withdrawn, as other devices execute the rest of its grid?
  bool must_leave() const {
    return traits_.part != nullptr && traits_.part->must_leave() && !is_withdrawn_ && !has_ended();
  }
  /// Reports how many blocks are expected to run here, where that is another number than was told last.
  void tell_expected(Time now, std::vector<Event>& events);
  /// Reports a launch that was withdrawn before its progress could be read. Requires has_ended().
  void close(std::vector<Event>& events);

  /// Is neither it nor a successor behind it on the hardware?
  bool is_off_hardware() const;
  const GpuLaunch* successor() const { return successor_.get(); }
  /// The successor that was queued behind this one, if any. It starts only if this one has ended.
  std::unique_ptr<GpuLaunch> take_successor(Time now);
  /// For a successor: the end of the launch before it.
  void came_behind(Time end);
  /// Its time behind another launch, if it had the SMs that the policy wants now from its beginning to its end. The
  /// time of a first launch depends on its host, too. Requires has_ended().
  std::optional<Duration> time_in_a_row() const;

  /// Its request for places, for arbitrate().
  virtual ResidencyRequest request() const = 0;
  /// The policy's quota, less the places that other launches need.
  virtual void grant(const ResidencyGrant& grant, Time now) = 0;
  /// Should something be handed to the hardware now?
  virtual bool wants_hardware(Time now) const = 0;
  virtual void hand_to_hardware(int level, Time now) = 0;
  /// Collects ends on the hardware; true if there were any. Reports the launch's end where no poll is needed.
  virtual bool collect(Time now, std::vector<Event>& events) = 0;
  /// Processes the tables as they were at `seen` and reports the changes.
  virtual void observe(Time seen, Time now, std::vector<Event>& events) = 0;
  /// Should the tables be polled soon?
  virtual bool needs_poll() const = 0;
  /// The launch has been submitted: one that was queued as a successor is a launch like the others.
  virtual void submitted(Time now) = 0;
  /// May its application's next launch be queued in hardware now, to start when this one has ended, in its place?
  virtual bool accepts_successor() const = 0;
  /// Queues that launch, where that is possible.
  virtual void queue_successor(const Submission& next, Time now) = 0;

 protected:
  void take(LaunchStep step) { phase_ = after(phase_, step); }
  ShareOnSms share_;
  WorkerProgress progress_;
  std::unique_ptr<GpuLaunch> successor_;
  Time since_{};  // handed to the hardware, or the end of the launch before it
  Time end_{};
  bool is_brief_ = false;
  bool is_withdrawn_ = false;
  int sharers_ = 1;          // the most launches that had a share at the same time
  bool was_steady_ = false;  // it had the SMs that the policy wants now all the time

 private:
  const Submission submission_;
  const LaunchTraits traits_;
  const ExecutionMode mode_;
  const HardwareGrids& grids_;
  LaunchPhase phase_ = LaunchPhase::Queued;
  std::int64_t told_expected_;
  bool came_behind_ = false;
};

}  // namespace gpushare
