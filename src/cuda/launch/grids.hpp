// SPDX-License-Identifier: Apache-2.0
// The grids of one launch that have been handed to the hardware and have not ended.
#pragma once

#include <span>
#include <vector>

#include "core/runtime/launch/hardware_grids.hpp"
#include "cuda/code/program.hpp"
#include "cuda/driver/completions.hpp"
#include "cuda/driver/stream_pool.hpp"

namespace gpushare::cuda {

/// Launches a grid in a stream, with one more argument behind the kernel's arguments if there is one.
void launch_grid(CUfunction function, const Extent& grid, const DeviceLaunch& code,
                 std::span<const std::byte> last_argument, CUstream stream);

class Grids final : public HardwareGrids {
 public:
  Grids(StreamPool& streams, Completions& completions) : streams_(streams), completions_(completions) {}

  /// Launches a grid on a stream of this level, behind all of these.
  void launch(CUfunction function, const Extent& grid, const DeviceLaunch& code,
              std::span<const std::byte> last_argument, int level, std::span<const CUevent> behind);

  /// The point at which all of them will have ended. Valid until then.
  std::vector<CUevent> mark_ends();

  /// Returns the streams of those that have ended; true if there were any.
  bool collect();

  bool empty() const override { return under_way_.empty(); }
  bool had_any() const override { return had_any_; }
  bool have_ended() const override;
  int level() const override;

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
