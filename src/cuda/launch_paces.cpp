// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_paces.hpp"

#include <algorithm>
#include <limits>

namespace gpushare::cuda {
namespace {

/// Not the shortest one counts: where the host notices an end late, the next launch seems to have begun late.
constexpr std::size_t enough_launches = 3;
constexpr std::size_t remembered_launches = 5;

}  // namespace

/// The first launch of a kernel is slower than the others.
void LaunchPaces::Tried::add(std::optional<double> per_block) {
  ++launches_;
  if (!per_block || launches_ == 1) return;
  if (recent_.size() == remembered_launches) recent_.erase(recent_.begin());
  recent_.push_back(*per_block);
}

bool LaunchPaces::Tried::is_known() const { return recent_.size() >= enough_launches; }

double LaunchPaces::Tried::pace() const {
  if (recent_.empty()) return std::numeric_limits<double>::infinity();
  std::vector<double> paces = recent_;
  const auto middle = paces.begin() + static_cast<std::ptrdiff_t>(paces.size() / 2);
  std::ranges::nth_element(paces, middle);
  return *middle;
}

void LaunchPaces::add(CUfunction worker, std::size_t sms, LaunchWay way, std::optional<Duration> took,
                      std::int64_t blocks) {
  BothWays& known = kernels_[{worker, sms}];
  Tried& tried = way == LaunchWay::Workers ? known.workers : known.whole;
  tried.add(took ? std::optional(nanoseconds(*took) / static_cast<double>(blocks)) : std::nullopt);
}

bool LaunchPaces::may_run_whole(CUfunction worker, std::size_t sms) const {
  const BothWays* known = kernels_.peek({worker, sms});
  if (known == nullptr) return false;
  const auto& [workers, whole] = *known;
  if (workers.launches() <= static_cast<int>(enough_launches)) return false;
  return !whole.is_known() || workers.pace() > clearly_less_ * whole.pace();
}

}  // namespace gpushare::cuda
