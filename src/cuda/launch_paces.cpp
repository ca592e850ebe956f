// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_paces.hpp"

#include <algorithm>
#include <limits>

namespace gpushare::cuda {
namespace {

/// Not the shortest one counts: where the host notices an end late, the next launch seems to have begun late.
constexpr std::size_t enough_launches = 3;
constexpr std::size_t remembered_launches = 5;
/// Rows of ten, of which the first finds all the work, are not steady.
constexpr int unsteady_launches = 20;

}  // namespace

/// The first launch of a kernel is slower than the others.
void LaunchPaces::Tried::add(std::optional<double> per_block) {
  ++launches_;
  if (!per_block || launches_ == 1) return;
  if (recent_.size() == remembered_launches) recent_.erase(recent_.begin());
  recent_.push_back(*per_block);
}

double LaunchPaces::Tried::difference(double per_block) const {
  return is_known() ? std::max(per_block / pace(), pace() / per_block) : 1;
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
  const auto per_block = took ? std::optional(nanoseconds(*took) / static_cast<double>(blocks)) : std::nullopt;
  const bool differs = per_block && tried.difference(*per_block) >= differs_from_;
  known.unsteady_for = differs ? unsteady_launches : std::max(0, known.unsteady_for - 1);
  tried.add(per_block);
}

bool LaunchPaces::may_run_whole(CUfunction worker, std::size_t sms) const {
  const BothWays* known = kernels_.peek({worker, sms});
  if (known == nullptr) return false;
  const auto& [workers, whole, unsteady_for] = *known;
  if (workers.launches() <= static_cast<int>(enough_launches)) return false;
  if (unsteady_for > 0) return true;
  return !whole.is_known() || workers.pace() > clearly_less_ * whole.pace();
}

}  // namespace gpushare::cuda
