// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch/kernel_history.hpp"

#include <algorithm>
#include <limits>

namespace gpushare {
namespace {

/// The median, not the shortest: where the host notices an end late, the next launch seems to have begun late.
constexpr std::size_t enough_launches = 3;
constexpr std::size_t remembered_launches = 5;
/// Sequences of ten of which the first launch finds all the work are not steady.
constexpr int unsteady_launches = 20;
/// Trials of the mode that lost: as many as can change the median, and so seldom that they cost 0.2 % at most.
constexpr int trials = 3;
constexpr double cost_of_trials = 0.002;
constexpr int least_between_trials = 64;
constexpr double most_between_trials = 10'000;
/// A policy that changes its division all the time must not make the history grow.
constexpr std::size_t remembered_sm_counts = 16;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

/// The first launch of a kernel is slower than the others.
void KernelHistory::Times::add(std::optional<PerBlock> time) {
  ++launches_;
  if (!time || launches_ == 1) return;
  if (recent_.size() == remembered_launches) recent_.erase(recent_.begin());
  recent_.push_back(*time);
}

bool KernelHistory::Times::are_known() const { return recent_.size() >= enough_launches; }

double KernelHistory::Times::typical() const {
  if (recent_.empty()) return std::numeric_limits<double>::infinity();
  std::vector<double> times;
  for (const PerBlock& each : recent_) times.push_back(each.nanoseconds);
  return median(std::move(times));
}

double KernelHistory::Times::difference(const PerBlock& time) const {
  std::vector<double> times;
  for (const PerBlock& each : recent_) {
    if (each.blocks == time.blocks) times.push_back(each.nanoseconds);
  }
  if (times.size() < enough_launches) return 1;
  const double usual = median(std::move(times));
  return std::max(time.nanoseconds / usual, usual / time.nanoseconds);
}

std::optional<Duration> KernelHistory::block_time(KernelId kernel) const {
  const KnownKernel* known = kernels_.peek(kernel);
  return known == nullptr ? std::nullopt : known->block_time;
}

std::optional<Duration> KernelHistory::expected_time(KernelId kernel, std::int64_t blocks, std::int64_t places) const {
  const std::optional<Duration> block = block_time(kernel);
  if (!block) return std::nullopt;
  return *block * ((blocks + places - 1) / places);
}

void KernelHistory::as_predicted(KernelId kernel) {
  if (KnownKernel* known = kernels_.find(kernel)) known->is_mispredicted = false;
}

bool KernelHistory::is_mispredicted(KernelId kernel) const {
  const KnownKernel* known = kernels_.peek(kernel);
  return known != nullptr && known->is_mispredicted;
}

const KernelHistory::BothModes* KernelHistory::find(const KnownKernel& kernel, std::size_t sms) {
  const auto found = std::ranges::find(kernel.by_sms, sms, &BothModes::sms);
  return found == kernel.by_sms.end() ? nullptr : &*found;
}

KernelHistory::BothModes& KernelHistory::find_or_add(KnownKernel& kernel, std::size_t sms) {
  auto found = std::ranges::find(kernel.by_sms, sms, &BothModes::sms);
  if (found == kernel.by_sms.end()) {
    if (kernel.by_sms.size() == remembered_sm_counts) kernel.by_sms.pop_back();
    kernel.by_sms.push_back({.sms = sms});
    found = std::prev(kernel.by_sms.end());
  }
  std::rotate(kernel.by_sms.begin(), found, std::next(found));
  return kernel.by_sms.front();
}

void KernelHistory::add(const TimedLaunch& launch, std::optional<Duration> took) {
  BothModes& modes = find_or_add(kernels_[launch.kernel], launch.sms);
  Times& times = launch.mode == ExecutionMode::Worker ? modes.as_workers : modes.as_original;
  std::optional<Times::PerBlock> time;
  if (took) time = {nanoseconds(*took) / static_cast<double>(launch.blocks), launch.blocks};
  const bool differs = time && times.difference(*time) >= differs_from_;
  modes.unsteady_for = differs ? unsteady_launches : std::max(0, modes.unsteady_for - 1);
  times.add(time);
  plan_trials(modes, launch.mode);
}

bool KernelHistory::original_is_chosen(const BothModes& modes) const {
  return modes.as_workers.typical() > clearly_less_ * modes.as_original.typical();
}

void KernelHistory::plan_trials(BothModes& modes, ExecutionMode mode) const {
  const bool is_original = mode == ExecutionMode::Original;
  if (modes.trials_left > 0) {
    if (is_original == modes.trial_is_original) --modes.trials_left;
    return;
  }
  if (!modes.as_workers.are_known() || !modes.as_original.are_known()) return;
  const bool original_is_chosen = this->original_is_chosen(modes);
  if (is_original != original_is_chosen) return;
  const double slower = original_is_chosen ? modes.as_workers.typical() / modes.as_original.typical()
                                           : modes.as_original.typical() / modes.as_workers.typical();
  const double between = std::min(trials * std::max(slower - 1, 0.0) / cost_of_trials, most_between_trials);
  if (++modes.launches_in_row < std::max(least_between_trials, static_cast<int>(between))) return;
  modes.launches_in_row = 0;
  modes.trials_left = trials;
  modes.trial_is_original = !original_is_chosen;
}

bool KernelHistory::original_may_be_faster(KernelId kernel, std::size_t sms, bool may_try_again) const {
  const KnownKernel* known = kernels_.peek(kernel);
  const BothModes* modes = known == nullptr ? nullptr : find(*known, sms);
  if (modes == nullptr || modes->as_workers.launches() <= static_cast<int>(enough_launches)) return false;
  if (modes->unsteady_for > 0 || !modes->as_original.are_known()) return true;
  return may_try_again && modes->trials_left > 0 ? modes->trial_is_original : original_is_chosen(*modes);
}

}  // namespace gpushare
