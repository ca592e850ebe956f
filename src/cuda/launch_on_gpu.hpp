// SPDX-License-Identifier: Apache-2.0
// One launch of the workload on a real GPU: as workers that obey quotas, or, where its kernel cannot be preempted, in
// its original form.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/engine/gpu.hpp"
#include "core/model/lru_cache.hpp"
#include "core/model/residency.hpp"
#include "core/workers/rank_room.hpp"
#include "core/workers/worker_demand.hpp"
#include "core/workers/worker_progress.hpp"
#include "cuda/doubtful_kernels.hpp"
#include "cuda/hardware_launches.hpp"
#include "cuda/launch_paces.hpp"
#include "cuda/partitions.hpp"
#include "cuda/worker_tables.hpp"

namespace gpushare::cuda {

/// Mean block time as workers: what earlier launches have shown.
using BlockTimes = LruCache<KernelId, Duration>;

/// The resources that all launches on one GPU share. Making them takes tens of milliseconds, so they outlive the runs,
/// which use them one after the other.
struct LaunchResources {
  SharedContext context;
  const Device& device;
  Completions completions;
  StreamPool streams;
  WorkerTables tables;
  Partitions partitions;
  BlockTimes block_times{4096};
  LaunchPaces paces;
  /// A launch ends before it could be stopped if its blocks all begin at once and take no longer than this.
  Duration fleeting{30'000};
  /// One that takes longer than this has waited for long blocks of another launch, or was mispredicted.
  Duration fleeting_at_most() const { return 10 * fleeting; }
  DoubtfulKernels doubtful;
  std::mutex turn;

  explicit LaunchResources(const SharedContext& shared, Slot slots = WorkerTables::usual_slots,
                           Duration worth_a_partition = Partitions::usual_worth)
      : context(shared),
        device(context->description()),
        completions(context),
        streams(context),
        tables(context, completions, device.sms, slots),
        partitions(context, worth_a_partition) {}
};

/// How many blocks of this launch an SM holds.
inline int residency_of(const Device& device, const Submission& launch) {
  return max_residency(device, std::get<Launch>(*launch.operation).kernel.needs);
}

class LaunchOnGpu {
 public:
  /// With separate streams, or with those of the GPU.
  LaunchOnGpu(LaunchResources& resources, const Submission& submission, const DeviceLaunch& code,
              std::shared_ptr<StreamPool> streams = nullptr)
      : resources_(resources),
        code_(code),
        streams_(std::move(streams)),
        hardware_(streams_ ? *streams_ : resources.streams, resources.completions),
        submission_(submission),
        footprint_(footprint(resources.device, std::get<Launch>(*submission.operation).kernel.needs)),
        max_residency_(residency_of(resources.device, submission)),
        split_(shared_memory_split(resources.device, std::get<Launch>(*submission.operation).kernel.needs)),
        wanted_(static_cast<std::size_t>(resources.device.sms)),
        progress_(submission.application, submission.id, count(code.grid), resources.device.sms) {}
  virtual ~LaunchOnGpu() = default;

  LaunchResources& resources() const { return resources_; }
  const Submission& submission() const { return submission_; }
  const DeviceLaunch& code() const { return code_; }
  int max_residency() const { return max_residency_; }
  /// By SM: the workers that the policy wants.
  std::span<const int> wanted() const { return wanted_; }
  int rank() const { return rank_; }
  /// If it should end within this time, the policy needs it only to begin, not to be preemptible.
  Duration whole_up_to() const { return whole_up_to_; }
  std::size_t sms() const { return wanted_.size(); }
  /// Does the policy give it nothing?
  bool is_stopped() const { return is_stopped_; }
  const HardwareLaunches& hardware() const { return hardware_; }
  /// Nor to any successor behind it?
  bool is_off_hardware() const {
    return hardware_.have_ended() && (follower() == nullptr || follower()->is_off_hardware());
  }

  /// Its workers leave, and none come, whatever the policy wants, until it gets a new grant.
  void evict(Time now) { allow({.workers = std::vector<int>(wanted_.size(), 0)}, now); }
  /// Sets the policy's quota from now on.
  void set_share(const Share& share, int rank);
  void take_share_of(const LaunchOnGpu& other) {
    rank_ = other.rank_;
    quota_ = other.quota_;
    wanted_ = other.wanted_;
    is_stopped_ = other.is_stopped_;
    whole_up_to_ = other.whole_up_to_;
  }
  /// No more of it starts from now on, whatever the policy wants.
  void withdraw(Time now);
  /// Its residency request, for make_room().
  virtual RoomClaim claim() const = 0;
  /// The policy's quota, less the places that others need.
  virtual void allow(const Allowance& allowance, Time now) = 0;
  /// Should something be handed to the hardware now?
  virtual bool wants_hardware(Time now) const = 0;
  virtual void hand_to_hardware(int level, Time now) = 0;
  /// Collects ends on the hardware; true if there were any. Reports the launch's end where no poll is needed.
  virtual bool collect(Time now, std::vector<gpushare::Event>& events) = 0;
  /// Processes the tables as they were at `seen` and reports the changes.
  virtual void look(Time seen, Time now, std::vector<gpushare::Event>& events) = 0;
  /// Should the tables be polled soon?
  virtual bool is_settling() const = 0;
  /// Do the tables show its progress?
  virtual bool is_in_tables() const = 0;
  /// Does it lack a place in the tables, which it needs to go to the hardware?
  virtual bool lacks_slot() const { return false; }
  /// Could it release its place until it goes to the hardware again? It can if none of its workers is on the GPU.
  virtual bool may_give_up_slot() const { return false; }
  /// Requires may_give_up_slot().
  virtual void give_up_slot() {}
  /// Has anything of it been handed to the hardware, or been made ready to be?
  virtual bool has_begun() const = 0;
  /// Have all blocks that will ever start ended and been reported?
  virtual bool ended() const = 0;
  /// Reports a launch that was withdrawn before its progress could be read. Requires ended().
  void close(std::vector<gpushare::Event>& events) {
    if (is_withdrawn_) progress_.end_rest(end_, events);
  }
  /// Will it end before a poll could show the places of its blocks?
  virtual bool is_fleeting() const { return false; }
  /// Its replacement in the other execution mode, where it has not begun and that mode suits the policy's share better.
  virtual std::unique_ptr<LaunchOnGpu> in_other_way() const = 0;
  /// When the last block ended. Requires ended().
  Time end() const { return end_; }
  virtual LaunchWay way() const = 0;
  /// Its time behind another launch, if it had the SMs that the policy wants now from its beginning to its end. The
  /// time of a first launch depends on its host too. Requires ended().
  std::optional<Duration> time_in_a_row() const {
    return came_behind_ && was_steady() ? std::optional(end_ - since_) : std::nullopt;
  }

  /// May its application's next launch be queued in hardware now, to start when this one has ended, in its place?
  virtual bool may_be_followed() const = 0;
  virtual void put_behind(const Submission& next, const DeviceLaunch& code, Time now) = 0;
  virtual const LaunchOnGpu* follower() const = 0;
  /// The successor that was queued behind this one, if any. It starts only if this one has ended.
  virtual std::unique_ptr<LaunchOnGpu> take_follower() = 0;
  /// For a successor: the end of the launch before it.
  void came_after(Time end) {
    since_ = end;
    came_behind_ = true;
  }
  /// The successor has been submitted, and is a launch like the others.
  virtual void submitted(Time now) = 0;

 protected:
  /// Did it have the SMs that the policy wants now all the time? Requires ended().
  virtual bool was_steady() const = 0;

  LaunchResources& resources_;
  const DeviceLaunch& code_;
  std::shared_ptr<StreamPool> streams_;
  HardwareLaunches hardware_;
  Submission submission_;
  BlockFootprint footprint_;
  int max_residency_;
  Bytes split_;  // how it wants an SM's L1 cache divided
  Quota quota_ = Quota::nowhere();
  std::vector<int> wanted_;  // by SM: the workers of the quota
  bool is_stopped_ = true;   // it wants none
  WorkerProgress progress_;
  int rank_ = 0;
  Duration whole_up_to_{};
  bool is_withdrawn_ = false;
  Time since_{};  // handed to the hardware, or the end of the launch before it
  bool came_behind_ = false;
  Time end_{};
};

/// Has the kernel a worker for this launch, which obeys quotas?
bool can_be_workers(const DeviceLaunch& code);

/// As workers where that is possible.
std::unique_ptr<LaunchOnGpu> make_launch(LaunchResources& resources, const Submission& submission,
                                         const DeviceLaunch& code);

}  // namespace gpushare::cuda
