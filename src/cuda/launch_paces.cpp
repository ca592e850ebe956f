// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch_paces.hpp"

#include <algorithm>
#include <limits>

namespace gpushare::cuda {
namespace {

/// The median, not the shortest: where the host notices an end late, the next launch seems to have begun late.
constexpr std::size_t enough_launches = 3;
constexpr std::size_t remembered_launches = 5;
/// Sequences of ten of which the first launch finds all the work are not steady.
constexpr int unsteady_launches = 20;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

/// The first launch of a kernel is slower than the others.
void LaunchPaces::Tried::add(std::optional<Timed> timed) {
  ++launches_;
  if (!timed || launches_ == 1) return;
  if (recent_.size() == remembered_launches) recent_.erase(recent_.begin());
  recent_.push_back(*timed);
}

bool LaunchPaces::Tried::is_known() const { return recent_.size() >= enough_launches; }

double LaunchPaces::Tried::pace() const {
  if (recent_.empty()) return std::numeric_limits<double>::infinity();
  std::vector<double> paces;
  for (const Timed& each : recent_) paces.push_back(each.per_block);
  return median(std::move(paces));
}

double LaunchPaces::Tried::difference(const Timed& timed) const {
  std::vector<double> paces;
  for (const Timed& each : recent_) {
    if (each.blocks == timed.blocks) paces.push_back(each.per_block);
  }
  if (paces.size() < enough_launches) return 1;
  const double usual = median(std::move(paces));
  return std::max(timed.per_block / usual, usual / timed.per_block);
}

void LaunchPaces::add(KernelId kernel, std::size_t sms, LaunchWay way, std::optional<Duration> took,
                      std::int64_t blocks) {
  BothWays& known = kernels_[{kernel, sms}];
  Tried& tried = way == LaunchWay::Workers ? known.workers : known.whole;
  std::optional<Tried::Timed> timed;
  if (took) timed = {nanoseconds(*took) / static_cast<double>(blocks), blocks};
  const bool differs = timed && tried.difference(*timed) >= differs_from_;
  known.unsteady_for = differs ? unsteady_launches : std::max(0, known.unsteady_for - 1);
  tried.add(timed);
}

bool LaunchPaces::may_run_whole(KernelId kernel, std::size_t sms) const {
  const BothWays* known = kernels_.peek({kernel, sms});
  if (known == nullptr) return false;
  const auto& [workers, whole, unsteady_for] = *known;
  if (workers.launches() <= static_cast<int>(enough_launches)) return false;
  if (unsteady_for > 0) return true;
  return !whole.is_known() || workers.pace() > clearly_less_ * whole.pace();
}

}  // namespace gpushare::cuda
