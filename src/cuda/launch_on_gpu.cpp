// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_on_gpu.hpp"

#include <algorithm>
#include <limits>

#include "cuda/whole_launch.hpp"
#include "cuda/worker_launch.hpp"

namespace gpushare::cuda {

void LaunchOnGpu::withdraw(Time now) {
  set_share({.quota = Quota::nowhere()}, rank_);
  is_withdrawn_ = true;
  end_ = now;
}

void LaunchOnGpu::set_share(const Share& share, int rank) {
  rank_ = rank;
  if (is_withdrawn_) return;
  // Blocks of a non-preemptible launch queue in hardware, and no launch behind them gets the rest of an SM.
  whole_up_to_ = share.leaves_rest ? Duration{} : share.whole_up_to;
  if (share.quota == quota_) return;
  quota_ = share.quota;
  is_stopped_ = true;
  for (std::size_t sm = 0; sm < wanted_.size(); ++sm) {
    wanted_[sm] = std::min(share.quota.at(static_cast<SmId>(sm)), max_residency_);
    is_stopped_ &= wanted_[sm] == 0;
  }
}

bool can_be_workers(const DeviceLaunch& code) {
  // Workers number their tasks with 31 bits.
  return code.kernel->can_be_worker(code.block, code.shared_bytes) &&
         count(code.grid) <= std::numeric_limits<std::int32_t>::max();
}

std::unique_ptr<LaunchOnGpu> make_launch(LaunchResources& resources, const Submission& submission,
                                         const DeviceLaunch& code) {
  if (!can_be_workers(code)) return std::make_unique<WholeLaunch>(resources, submission, code);
  return std::make_unique<WorkerLaunch>(resources, submission, code);
}

}  // namespace gpushare::cuda
