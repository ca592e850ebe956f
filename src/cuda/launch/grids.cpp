// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/grids.hpp"

#include <algorithm>

#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {

void launch_grid(CUfunction function, const Extent& grid, const DeviceLaunch& code,
                 std::span<const std::byte> last_argument, CUstream stream) {
  std::vector<void*> arguments;
  for (const std::vector<std::byte>& argument : code.arguments) {
    arguments.push_back(const_cast<std::byte*>(argument.data()));
  }
  if (!last_argument.empty()) arguments.push_back(const_cast<std::byte*>(last_argument.data()));
  GPUSHARE_CU(cuLaunchKernel(function, grid[0], grid[1], grid[2], code.block[0], code.block[1], code.block[2],
                             code.shared_bytes, stream, arguments.data(), nullptr));
}

void Grids::launch(CUfunction function, const Extent& grid, const DeviceLaunch& code,
                   std::span<const std::byte> last_argument, int level, std::span<const CUevent> behind) {
  MarkedStream taken = streams_.take(level);
  CUstream stream = taken.stream.get();
  for (CUevent event : behind) GPUSHARE_CU(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT));
  launch_grid(function, grid, code, last_argument, stream);
  // Before its end is marked: a kernel may have faulted by then, and its launch has to be known.
  under_way_.push_back({std::move(taken), level, {}});
  had_any_ = true;
  under_way_.back().end = completions_.mark(stream);
}

std::vector<CUevent> Grids::mark_ends() {
  std::vector<CUevent> ends;
  for (const HardwareLaunch& each : under_way_) {
    GPUSHARE_CU(cuEventRecord(each.stream.mark.get(), each.stream.stream.get()));
    ends.push_back(each.stream.mark.get());
  }
  return ends;
}

bool Grids::have_ended() const {
  return std::ranges::all_of(under_way_, [](const HardwareLaunch& each) { return each.end.reached(); });
}

bool Grids::collect() {
  const auto ended = std::ranges::partition(under_way_, [](const HardwareLaunch& each) { return !each.end.reached(); });
  if (ended.empty()) return false;
  for (HardwareLaunch& each : ended) {
    completions_.give_back(each.end);
    streams_.give_back(std::move(each.stream), each.level);
  }
  under_way_.erase(ended.begin(), ended.end());
  return true;
}

int Grids::level() const { return std::ranges::min_element(under_way_, {}, &HardwareLaunch::level)->level; }

}  // namespace gpushare::cuda
