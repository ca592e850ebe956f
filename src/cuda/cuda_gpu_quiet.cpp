// SPDX-License-Identifier: Apache-2.0
// The part of CudaGpu that drains the GPU for calls of the driver that would wait for running kernels (quiet_moments).
#include <algorithm>

#include "cuda/cuda_gpu.hpp"

namespace gpushare::cuda {
namespace {

/// The longest drain for one call. A launch that has not left by then, with a long block or in its original form, may
/// not end at all; and a call that has not returned may wait for kernels of other processes.
constexpr Duration longest_pause(2'000'000'000);

}  // namespace

CudaGpu::~CudaGpu() { quiet_moments().end_use(); }

/// No launch is handed to the hardware without this.
bool CudaGpu::may_use_gpu(Time time) {
  if (is_paused_) return false;
  if (is_in_use_) return true;
  is_in_use_ = quiet_moments().begin_use();
  if (!is_in_use_) pause(time);
  return is_in_use_;
}

void CudaGpu::heed_quiet(Time time) {
  if (is_paused_) {
    if (try_to_end_pause(time)) go_on(time);
  } else if (is_in_use_ && time >= no_pause_before_ && quiet_moments().is_wanted()) {
    pause(time);
  }
}

/// The policy is not informed: it sees launches with fewer running blocks for a while.
void CudaGpu::pause(Time time) {
  is_paused_ = true;
  paused_ = time;
  followers_.stop_started(time);
  make_room(time);
  look_soon();
}

bool CudaGpu::try_to_end_pause(Time time) {
  end_use_if_empty();
  const bool is_too_long = time - paused_ >= longest_pause;
  if (is_too_long) quiet_moments().take_back();
  if (is_in_use_) return is_too_long || !quiet_moments().is_wanted();
  is_in_use_ = quiet_moments().begin_use();
  return is_in_use_;
}

/// After a drain of length d the next one is refused for d, so drains take at most half of the time.
void CudaGpu::go_on(Time time) {
  is_paused_ = false;
  no_pause_before_ = time + (time - paused_);
  put_into_effect();
}

void CudaGpu::stop_all(Time time) {
  for (const auto& launch : launches_) launch->evict(time);
}

bool CudaGpu::is_empty() const {
  return followers_.are_off_hardware() &&
         std::ranges::all_of(launches_, [](const auto& launch) { return launch->is_off_hardware(); });
}

void CudaGpu::end_use_if_empty() {
  if (!is_in_use_ || !is_empty()) return;
  quiet_moments().end_use();
  is_in_use_ = false;
}

}  // namespace gpushare::cuda
