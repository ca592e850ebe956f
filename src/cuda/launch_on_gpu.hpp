// SPDX-License-Identifier: Apache-2.0
// One launch of the workload on its way through the GPU: as workers that obey quotas, or, where its kernel cannot be
// preempted, as it is.
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

/// What all launches on one GPU use. Making it takes tens of milliseconds, so it outlives the runs; they take turns.
struct LaunchResources {
  SharedContext context;
  const Device& device;
  Completions completions;
  StreamPool streams;
  WorkerTables tables;
  Partitions partitions;
  BlockTimes block_times{4096};
  LaunchPaces paces;
  /// A launch whose blocks all begin at once and take no longer is over before it could be stopped.
  Duration fleeting{30'000};
  /// A fleeting launch that takes longer has waited for somebody's long blocks, or is none.
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
  /// On streams of its own, or where there are none on those of the GPU.
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
  /// By SM, as the policy wants it.
  std::span<const int> wanted() const { return wanted_; }
  int rank() const { return rank_; }
  /// If it should end within this time, the policy does not ask for more than that it can begin.
  Duration whole_up_to() const { return whole_up_to_; }
  std::size_t sms() const { return wanted_.size(); }
  /// Does the policy give it nothing?
  bool is_stopped() const { return is_stopped_; }
  const HardwareLaunches& hardware() const { return hardware_; }
  /// Nor anything that was put behind it?
  bool is_off_hardware() const {
    return hardware_.have_ended() && (follower() == nullptr || follower()->is_off_hardware());
  }

  /// Its workers leave, and none come, whatever the policy wants, until it is allowed some again.
  void evict(Time now) { allow({.workers = std::vector<int>(wanted_.size(), 0)}, now); }
  /// From now on this is what the policy wants.
  void set_share(const Share& share, int rank);
  void take_share_of(const LaunchOnGpu& other) {
    rank_ = other.rank_;
    quota_ = other.quota_;
    wanted_ = other.wanted_;
    is_stopped_ = other.is_stopped_;
    whole_up_to_ = other.whole_up_to_;
  }
  /// From now on the policy can want what it likes: no more of it starts.
  void withdraw(Time now);
  /// What the launch wants of the SMs, for make_room().
  virtual RoomClaim claim() const = 0;
  /// What the policy wants, less what has to make room for others.
  virtual void allow(const Allowance& allowance, Time now) = 0;
  /// Should something be handed to the hardware now?
  virtual bool wants_hardware(Time now) const = 0;
  virtual void hand_to_hardware(int level, Time now) = 0;
  /// Takes note of what the hardware has ended; true if that was something. Reports the end where no look is needed.
  virtual bool collect(Time now, std::vector<gpushare::Event>& events) = 0;
  /// Reads the tables as they were at `seen` and reports what has happened.
  virtual void look(Time seen, Time now, std::vector<gpushare::Event>& events) = 0;
  /// Should the tables be looked at soon?
  virtual bool is_settling() const = 0;
  /// Does a look at the tables show what it does?
  virtual bool is_in_tables() const = 0;
  /// Does it need a place in the tables that it has not got, to go to the hardware?
  virtual bool lacks_slot() const { return false; }
  /// Could it do without its place until it goes to the hardware again? It can if nobody of it is on the GPU.
  virtual bool may_give_up_slot() const { return false; }
  /// Requires may_give_up_slot().
  virtual void give_up_slot() {}
  /// Has anything of it been handed to the hardware, or been made ready to be?
  virtual bool has_begun() const = 0;
  /// Have all blocks that will ever start ended and been reported?
  virtual bool ended() const = 0;
  /// Reports what was withdrawn before anybody could say what had become of it. Requires ended().
  void close(std::vector<gpushare::Event>& events) {
    if (is_withdrawn_) progress_.end_rest(end_, events);
  }
  /// Will it be over before anybody could see where its blocks are?
  virtual bool is_fleeting() const { return false; }
  /// Itself in the other way, as workers or whole, where it has not begun and that suits better what the policy gives.
  virtual std::unique_ptr<LaunchOnGpu> in_other_way() const = 0;
  /// When the last block ended. Requires ended().
  Time end() const { return end_; }
  virtual LaunchWay way() const = 0;
  /// What it took behind another launch, if it had the SMs that the policy wants now from its beginning to its end. How
  /// long a first launch takes is its host's as much as its own. Requires ended().
  std::optional<Duration> time_in_a_row() const {
    return came_behind_ && was_steady() ? std::optional(end_ - since_) : std::nullopt;
  }

  /// May its application's next launch go to the hardware now, to start when this one has ended, in its place?
  virtual bool may_be_followed() const = 0;
  virtual void put_behind(const Submission& next, const DeviceLaunch& code, Time now) = 0;
  virtual const LaunchOnGpu* follower() const = 0;
  /// The launch that was put behind this one, if any. It starts only if this one has ended.
  virtual std::unique_ptr<LaunchOnGpu> take_follower() = 0;
  /// Of a launch that was put behind another: that one's end.
  void came_after(Time end) {
    since_ = end;
    came_behind_ = true;
  }
  /// From now on the launch is one like the others.
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
  std::vector<int> wanted_;  // by SM: what the quota comes to
  bool is_stopped_ = true;   // it wants none
  WorkerProgress progress_;
  int rank_ = 0;
  Duration whole_up_to_{};
  bool is_withdrawn_ = false;
  Time since_{};  // the SMs could be its own: it was handed to the hardware, or the launch before it ended
  bool came_behind_ = false;
  Time end_{};
};

/// Is there a way to run it that obeys quotas?
bool can_be_workers(const DeviceLaunch& code);

/// As workers where that is possible.
std::unique_ptr<LaunchOnGpu> make_launch(LaunchResources& resources, const Submission& submission,
                                         const DeviceLaunch& code);

}  // namespace gpushare::cuda
