// SPDX-License-Identifier: Apache-2.0
// What earlier launches of a kernel have shown on a real GPU: the mean time of a block, the time of a launch in either
// execution mode, and whether a launch took much longer than predicted.
//
// Workers save some kernels the start of every block, and cost others registers (docs/internals/transform.md), so both
// modes are timed, by the number of SMs. Where launches of a kernel differ, as where the first of ten finds all the
// work, the timed ones say nothing of the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/model/lru_cache.hpp"
#include "core/model/units.hpp"

namespace gpushare {

/// Identifies a loaded kernel. Addresses of the driver's functions recur once a kernel has been unloaded; these do not.
enum class KernelId : std::uint64_t {};

/// As persistent workers that obey quotas, or as the kernel was written.
enum class ExecutionMode { Worker, Original };

class KernelHistory {
 public:
  /// A launch of a kernel, in one mode and on so many SMs.
  struct TimedLaunch {
    KernelId kernel{};
    std::size_t sms = 0;
    ExecutionMode mode{};
    std::int64_t blocks = 0;
  };

  /// Workers are chosen where they need at most `clearly_less` of the time: original launches need no polling. Launches
  /// differ if one takes `differs_from` times as long as usual, or so many times less. An end that is noticed 40 us
  /// late has this effect on launches of less than 0.08 ms, which then run in their original form.
  explicit KernelHistory(double clearly_less = 0.97, double differs_from = 1.5)
      : clearly_less_(clearly_less), differs_from_(differs_from) {}

  /// The mean time of a block as a worker's task; nothing where no launch has shown it.
  std::optional<Duration> block_time(KernelId kernel) const;
  void set_block_time(KernelId kernel, Duration time) { kernels_[kernel].block_time = time; }
  /// The time of a launch of so many blocks where `places` of them run at a time.
  std::optional<Duration> expected_time(KernelId kernel, std::int64_t blocks, std::int64_t places) const;

  /// A launch in its original form has taken much longer than predicted: the next ones are preemptible, until one has
  /// taken its usual time again.
  void mispredicted(KernelId kernel) { kernels_[kernel].is_mispredicted = true; }
  void as_predicted(KernelId kernel);
  bool is_mispredicted(KernelId kernel) const;

  /// A launch has ended; its time, if no other launch was on its SMs and it came right behind another one.
  void add(const TimedLaunch& launch, std::optional<Duration> took);
  /// Is the original not known to be slower on so many SMs? Requires some launches as workers first: they show the
  /// block time. Where it may be tried again, the mode that lost is the answer now and then: a disturbance may have
  /// made it seem slow.
  bool original_may_be_faster(KernelId kernel, std::size_t sms, bool may_try_again) const;

 private:
  /// The last launches in one mode.
  class Times {
   public:
    struct PerBlock {
      double nanoseconds;
      std::int64_t blocks;
    };
    void add(std::optional<PerBlock> time);
    /// The factor (at least 1) by which the time differs from the last launches of as many blocks; 1 where there are
    /// not enough of these.
    double difference(const PerBlock& time) const;
    int launches() const { return launches_; }
    bool are_known() const;
    /// Nanoseconds per block: the median of the last launches; infinite before the first one was timed.
    double typical() const;

   private:
    int launches_ = 0;
    std::vector<PerBlock> recent_;  // without the first
  };
  struct BothModes {
    std::size_t sms = 0;
    Times as_workers;
    Times as_original;
    int unsteady_for = 0;     // number of launches
    int launches_in_row = 0;  // in the mode that was chosen, since the other one was tried
    int trials_left = 0;      // launches in the other mode, to see whether its times still hold
    bool trial_is_original = false;
  };
  struct KnownKernel {
    std::optional<Duration> block_time;
    bool is_mispredicted = false;
    std::vector<BothModes> by_sms;  // the last used one first
  };

  /// By their times, where both modes are known.
  bool original_is_chosen(const BothModes& modes) const;
  void plan_trials(BothModes& modes, ExecutionMode mode) const;
  static const BothModes* find(const KnownKernel& kernel, std::size_t sms);
  static BothModes& find_or_add(KnownKernel& kernel, std::size_t sms);

  double clearly_less_;
  double differs_from_;
  LruCache<KernelId, KnownKernel> kernels_{4096};
};

}  // namespace gpushare
