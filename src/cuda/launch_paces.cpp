// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_paces.hpp"

#include <algorithm>

namespace gpushare::cuda {
namespace {

/// The first launch of a kernel is slower than the others.
constexpr int enough_launches = 2;
/// Of its time as it was written. Launches that are left whole need nobody to look after them.
constexpr double clearly_less = 0.97;

}  // namespace

void LaunchPaces::add(CUfunction worker, std::size_t sms, LaunchWay way, std::optional<Duration> took,
                      std::int64_t blocks) {
  BothWays& known = kernels_[{worker, sms}];
  Tried& tried = way == LaunchWay::Workers ? known.workers : known.whole;
  ++tried.launches;
  if (!took) return;
  ++tried.timed;
  tried.shortest = std::min(tried.shortest, nanoseconds(*took) / static_cast<double>(blocks));
}

bool LaunchPaces::may_run_whole(CUfunction worker, std::size_t sms) const {
  const auto known = kernels_.find({worker, sms});
  if (known == kernels_.end() || known->second.workers.launches < enough_launches) return false;
  const auto& [workers, whole] = known->second;
  return whole.timed < enough_launches || workers.shortest > clearly_less * whole.shortest;
}

}  // namespace gpushare::cuda
