// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_on_gpu.hpp"

#include <algorithm>
#include <limits>

#include "cuda/whole_launch.hpp"
#include "cuda/worker_launch.hpp"

namespace gpushare::cuda {

void LaunchOnGpu::withdraw(Time now) {
  set_quota(Quota::nowhere(), rank_);
  is_withdrawn_ = true;
  end_ = now;
}

void LaunchOnGpu::set_quota(const Quota& quota, int rank) {
  rank_ = rank;
  if (is_withdrawn_) return;
  for (std::size_t sm = 0; sm < wanted_.size(); ++sm) {
    wanted_[sm] = std::min(quota.at(static_cast<SmId>(sm)), max_residency_);
  }
}

std::unique_ptr<LaunchOnGpu> make_launch(LaunchResources& resources, const Submission& submission,
                                         const DeviceLaunch& code) {
  // Workers number their tasks with 31 bits.
  const bool has_too_many_blocks = count(code.grid) > std::numeric_limits<std::int32_t>::max();
  if (code.kernel->worker() == nullptr || has_too_many_blocks)
    return std::make_unique<WholeLaunch>(resources, submission, code);
  return std::make_unique<WorkerLaunch>(resources, submission, code);
}

}  // namespace gpushare::cuda
