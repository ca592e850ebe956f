// SPDX-License-Identifier: Apache-2.0
// Which of the two ways to run a kernel takes less time, on so many SMs: as workers or as it was written. Workers save
// some kernels the start of every block, and cost others registers (docs/internals/transform.md). So both are tried.
// Where launches of a kernel differ, as where the first of ten finds all the work, those that were timed say nothing of
// the next one.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/model/lru_cache.hpp"
#include "core/model/units.hpp"
#include "cuda/kernel_code.hpp"

namespace gpushare::cuda {

enum class LaunchWay { Workers, Whole };

class LaunchPaces {
 public:
  /// Workers are chosen where they need at most this part of the time. Original launches need no polling, so the
  /// difference has to be clear. Launches differ if one takes so many times as long as usual, or so many times less. An
  /// end that is noticed 40 us late has this effect on launches of less than 0.08 ms, which then run in their original
  /// form.
  explicit LaunchPaces(double clearly_less = 0.97, double differs_from = 1.5)
      : clearly_less_(clearly_less), differs_from_(differs_from) {}

  /// A launch of the kernel on so many SMs has ended; its time, if no other launch was on them and it came right behind
  /// another.
  void add(KernelId kernel, std::size_t sms, LaunchWay way, std::optional<Duration> took, std::int64_t blocks);

  /// Is the original not known to be slower? Requires some launches as workers first: they show the block time.
  bool may_run_whole(KernelId kernel, std::size_t sms) const;

 private:
  class Tried {
   public:
    struct Timed {
      double per_block;
      std::int64_t blocks;
    };
    void add(std::optional<Timed> timed);
    /// The factor (at least 1) by which the time differs from the last launches of as many blocks; 1 where there are
    /// not enough of these.
    double difference(const Timed& timed) const;
    int launches() const { return launches_; }
    bool is_known() const;
    /// Nanoseconds per block: the median of the last launches; infinite before the first one was timed.
    double pace() const;

   private:
    int launches_ = 0;
    std::vector<Timed> recent_;  // without the first
  };
  struct BothWays {
    Tried workers;
    Tried whole;
    int unsteady_for = 0;  // number of launches
  };
  double clearly_less_;
  double differs_from_;
  LruCache<std::pair<KernelId, std::size_t>, BothWays> kernels_{4096};
};

}  // namespace gpushare::cuda
