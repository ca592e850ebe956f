// SPDX-License-Identifier: Apache-2.0
#include "cuda/short_launches.hpp"

#include <algorithm>

#include "cuda/launch_on_gpu.hpp"

namespace gpushare::cuda {

std::optional<std::vector<SmId>> whole_sms(std::span<const int> wanted, int max_residency) {
  std::vector<SmId> sms;
  for (std::size_t sm = 0; sm < wanted.size(); ++sm) {
    if (wanted[sm] == 0) continue;
    if (wanted[sm] < max_residency) return std::nullopt;
    sms.push_back(static_cast<SmId>(sm));
  }
  if (sms.empty()) return std::nullopt;
  return sms;
}

std::optional<Duration> expected_time(const LaunchResources& resources, const DeviceLaunch& code, int max_residency,
                                      std::size_t sms) {
  if (!can_be_workers(code)) return std::nullopt;
  const Duration* block_time = resources.block_times.peek(code.kernel->id());
  if (block_time == nullptr) return std::nullopt;
  const std::int64_t places = max_residency * static_cast<std::int64_t>(sms);
  return *block_time * ((count(code.grid) + places - 1) / places);
}

std::optional<WholeWay> way_for_fleeting(const LaunchResources& resources, const DeviceLaunch& code, int max_residency,
                                         const std::vector<SmId>& sms) {
  const std::size_t all = static_cast<std::size_t>(resources.device.sms);
  const bool begins_at_once = sms.size() == all && count(code.grid) <= max_residency * static_cast<std::int64_t>(all);
  const std::optional<Duration> expected = expected_time(resources, code, max_residency, sms.size());
  if (!begins_at_once || !expected || *expected > resources.fleeting) return std::nullopt;
  if (resources.doubtful.contains(code.kernel->id())) return std::nullopt;
  return WholeWay{.function = code.kernel->original(),
                  .sms = sms,
                  .wanted = sms,
                  .longest = resources.fleeting_at_most(),
                  .is_fleeting = true};
}

std::optional<WholeWay> way_for_short(LaunchResources& resources, const DeviceLaunch& code, int max_residency,
                                      const std::vector<SmId>& sms, Duration longest) {
  const std::optional<Duration> expected = expected_time(resources, code, max_residency, sms.size());
  if (!expected || *expected > longest) return std::nullopt;
  if (resources.doubtful.contains(code.kernel->id())) return std::nullopt;
  if (!resources.paces.may_run_whole(code.kernel->id(), sms.size())) return std::nullopt;
  const bool has_all = sms.size() == static_cast<std::size_t>(resources.device.sms);
  std::optional<WholeWay> way;
  if (has_all) {
    way = WholeWay{.function = code.kernel->original(), .sms = sms, .wanted = sms};
  } else if (code.kernel->may_be_copied()) {
    way = resources.partitions.find(code.kernel, sms, *expected);
  }
  if (way) way->longest = longest;
  return way;
}

std::optional<WholeWay> way_to_run_whole(LaunchResources& resources, const DeviceLaunch& code, int max_residency,
                                         const std::vector<SmId>& sms, Duration longest) {
  if (auto way = way_for_fleeting(resources, code, max_residency, sms)) return way;
  if (longest == Duration{}) return std::nullopt;
  return way_for_short(resources, code, max_residency, sms, longest);
}

}  // namespace gpushare::cuda
