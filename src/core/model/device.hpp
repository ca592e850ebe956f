// SPDX-License-Identifier: Apache-2.0
// A GPU as data: the resources of an SM and their allocation units, the memory system beyond the SMs, and the delays of
// the host's commands. python/gpushare/devices/*.toml has the source of each figure.
#pragma once

#include <string>
#include <vector>

#include "core/model/units.hpp"

namespace gpushare {

/// The order in which an SM's schedulers serve the warps of its blocks.
enum class IssueOrder {
  Fair,         ///< all alike
  OldestFirst,  ///< those of the blocks that have been on the SM for longest; a worker is one block as long as it stays
};

/// The resources that all resident blocks of one SM share.
struct SmCapacity {
  int threads = 0;
  int warps = 0;
  int blocks = 0;
  int registers = 0;
  Bytes shared_memory;
  IssueOrder issue_order = IssueOrder::Fair;
  /// What of the L1 cache can be shared memory, ascending; it is split anew only while the SM is empty. Empty: any
  /// part, at any time.
  std::vector<Bytes> shared_memory_splits{};
};

/// The units in which an SM hands out its resources; they decide how many blocks really fit.
struct AllocationGranularity {
  int threads_per_warp = 32;
  int registers_per_warp = 256;     ///< a warp's registers are rounded up to this
  int warps = 4;                    ///< the warps that fit the register file are rounded down to this
  Bytes shared_memory{128};         ///< a block's shared memory is rounded up to this
  Bytes reserved_shared_memory{0};  ///< what the system takes per block on top
};

/// How much later memory answers when it is busy: a kernel's time in memory grows by delay(utilisation) times itself.
/// The first term is felt at any load, the second near saturation; both are fitted
/// (docs/results/simulator-accuracy.md).
struct LoadDelay {
  double linear = 0;
  double saturating = 0;

  double at(double utilisation) const {
    const double square = utilisation * utilisation;
    return linear * utilisation + saturating * square * square / (1 - utilisation);
  }
  bool is_none() const { return linear == 0 && saturating == 0; }
};

/// The bandwidth beyond the SMs, all SMs together (CD-search, section 4.1.2). Zero means: not a limit.
struct OffSmBandwidth {
  Bandwidth noc;
  Bandwidth llc;
  Bandwidth dram;
  LoadDelay delay;
};

/// One direction of the copy engines: time = latency + bytes / bandwidth.
struct CopyEngine {
  Duration latency{};
  Bandwidth bandwidth;
};

/// How long the host's commands take to have effect.
struct CommandDelays {
  Duration launch{};          ///< from a launch's arrival to the dispatch of its first block
  Duration signal{};          ///< from a new plan to workers that obey it
  Duration relaunch{};        ///< from the new plan to the first block of a launch that had been evicted
  Duration block_dispatch{};  ///< between two blocks that one SM starts
  Duration completion{};      ///< from the end of a launch's last block until the host knows
  /// From the time when a launch may have more blocks on an SM than it has workers there to the first of these blocks:
  /// the workers that were evicted are gone, and new ones have to be launched.
  Duration top_up{};
  /// From the end of a launch's last block to the first block of its application's next launch, where that one is
  /// queued behind it in hardware. Zero: the device queues none.
  Duration follow{};
};

/// What co-scheduling costs and what it has to promise, as far as that depends on the device. The defaults were
/// measured on an H100 80GB.
struct CoRunTuning {
  /// From a launch's arrival until workers obey a plan made for it, at least: the decision, the distribution of SMs,
  /// and the orders to the workers.
  Duration plan_latency{30'000};
  /// From a new allocation until its quotas hold on all SMs: some 25 us, and a block.
  Duration allocation_settling{100'000};
  /// To hand the GPU from one launch to another: some 25 us to evict, as much to resume, and a block.
  Duration switch_cost{100'000};
  /// The most waiting work that is admitted to reserved SMs: others lose these SMs meanwhile, and each waiting launch
  /// costs the device time at every poll.
  Duration longest_backlog{5'000'000};
  /// What an unequal partition must promise over an equal one, where the model is uncertain (allocation_search.hpp).
  double gain_of_unequal_parts = 1.2;
  /// The same for shared SMs.
  double gain_of_sharing = 1.3;
  /// The least that co-running must promise over serial execution where the model is uncertain: predictions of equal
  /// partitions were up to 13 % off in nine pairs of ten (docs/results/simulator-accuracy.md).
  double gain_of_doubtful_co_running = 1 / 1.1;
  /// The throughput of original kernels in serial execution: they leave no gaps and fill each other's last waves. 1.07
  /// of one after the other in the mean of 136 pairs; chosen on half of these pairs, checked on the others
  /// (docs/internals/tuner.md).
  double gain_of_serial_whole = 1.05;
};

/// What the runtime of a real GPU waits for, and when it acts. All of it follows from costs and latencies of the GPU,
/// its driver and its host. The defaults were measured on an H100 80GB.
struct RuntimeTuning {
  /// Between two polls while a launch waits for what they show: a poll takes 6 us, so the copy engine is idle for about
  /// half of the time.
  Duration shortest_poll_wait{5'000};
  /// The same while no launch waits, at most: workers report progress no more often than that.
  Duration longest_poll_wait{500'000};
  /// A poll that takes longer is started once more in another way: it takes 6 us, 13 us beside copies that do not delay
  /// it.
  Duration late_poll{40'000};
  /// The same where SMs are reserved for the other way, which then costs no kernel its place.
  Duration late_poll_with_place{25'000};
  /// The policy has so long for the events of a poll before the next one: a built-in policy processes all of them in 10
  /// to 30 us, one in Python may take a millisecond.
  Duration time_for_events{50'000};
  /// From a request for workers to the next one, at first. It doubles with each request: where workers find no place,
  /// more of them keep the hardware busy for nothing.
  Duration first_top_up_patience{10'000};
  /// The same at most.
  Duration longest_top_up_patience{1'000'000};
  /// Work that a worker claims at once: an atomic operation costs about 1 ns of the whole GPU, and a worker that was
  /// told to leave does all that it has claimed.
  Duration work_per_claim{8'000};
  /// A launch is brief if its blocks all begin at once and take no longer: it ends before an order could reach it.
  Duration brief_launch{30'000};
  /// A launch on reserved SMs is expected to end before the places of its blocks matter for so long: it takes some 25
  /// us to evict workers from there, and as much to bring them back.
  Duration longest_passing{200'000};
  /// A launch with blocks no longer than this leaves its SMs soon: its workers obey an order when their chunk ends.
  Duration short_block{50'000};
  /// A kernel is loaded into a part of the GPU once the launches that need it have taken so long: a drain takes 0.1 to
  /// 2 ms until it begins, 0.3 for a kernel and 2 for a partition, and original launches save a twentieth of the time
  /// in the mean.
  Duration partition_worth{20'000'000};
};

struct Device {
  std::string name;
  int sms = 0;
  double clock_hz = 0;
  SmCapacity per_sm;
  AllocationGranularity granularity;
  OffSmBandwidth off_sm;
  CopyEngine to_device;
  CopyEngine to_host;
  CommandDelays delays;
  CoRunTuning tuning{};
  RuntimeTuning runtime{};
  double flops_per_s = 0;  ///< single-precision peak, where known
  Bytes memory{};          ///< where known; 0: not limited
  CopyEngine peer{};       ///< the link to other GPUs of its host (move_time.hpp); a bandwidth of 0: there is none
};

/// Throws InvalidInput naming the first field that no GPU can have.
void validate(const Device& device);

}  // namespace gpushare
