// SPDX-License-Identifier: Apache-2.0
// What has been handed to the hardware on behalf of one launch and has not ended.
#pragma once

#include <span>
#include <vector>

#include "cuda/completions.hpp"
#include "cuda/program.hpp"
#include "cuda/stream_pool.hpp"

namespace gpushare::cuda {

/// Hands a grid to a stream, with one more argument behind the kernel's own where there is one.
void launch_grid(CUfunction function, const Extent& grid, const DeviceLaunch& code,
                 std::span<const std::byte> last_argument, CUstream stream);

class HardwareLaunches {
 public:
  HardwareLaunches(StreamPool& streams, Completions& completions) : streams_(streams), completions_(completions) {}

  /// Launches a grid on a stream of this level, behind all of these.
  void launch(CUfunction function, const Extent& grid, const DeviceLaunch& code,
              std::span<const std::byte> last_argument, int level, std::span<const CUevent> behind);

  /// Where everything that is under way will have ended. Valid until then.
  std::vector<CUevent> mark_ends();

  /// Gives back the streams of those that have ended; true if there were any.
  bool collect();

  bool empty() const { return under_way_.empty(); }
  /// Has there ever been anything?
  bool had_any() const { return had_any_; }
  /// Is nothing of it on the hardware, whether that has been collected or not?
  bool have_ended() const;
  /// The most urgent level in use. Requires that something is under way.
  int level() const;

 private:
  struct HardwareLaunch {
    MarkedStream stream;
    int level;
    Completion end;
  };

  StreamPool& streams_;
  Completions& completions_;
  std::vector<HardwareLaunch> under_way_;
  bool had_any_ = false;
};

}  // namespace gpushare::cuda
