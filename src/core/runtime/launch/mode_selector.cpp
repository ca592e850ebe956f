// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch/mode_selector.hpp"

namespace gpushare {

std::optional<std::vector<SmId>> fully_shared_sms(std::span<const int> wanted, int max_residency) {
  std::vector<SmId> sms;
  for (std::size_t sm = 0; sm < wanted.size(); ++sm) {
    if (wanted[sm] == 0) continue;
    if (wanted[sm] < max_residency) return std::nullopt;
    sms.push_back(static_cast<SmId>(sm));
  }
  if (sms.empty()) return std::nullopt;
  return sms;
}

ModeChoice choose_mode(const KernelHistory& history, const LaunchShare& launch, const ModeLimits& limits) {
  using enum ModeReason;
  ModeChoice choice{.mode = ExecutionMode::Worker};
  const auto decide = [&choice](ExecutionMode mode, ModeReason reason, Duration longest = {}) {
    choice.mode = mode;
    choice.reason = reason;
    choice.longest = longest;
    return choice;
  };
  const bool has_all_sms = launch.sms && launch.sms->size() == limits.sms;
  if (!launch.has_worker) {
    const std::int64_t places = launch.max_residency * static_cast<std::int64_t>(limits.sms);
    choice.expected = history.expected_time(launch.kernel, launch.blocks, places).value_or(Duration{});
    const bool is_short = has_all_sms && choice.expected > Duration{} && choice.expected <= launch.original_up_to;
    return decide(ExecutionMode::Original, NoWorker, is_short ? launch.original_up_to : Duration{});
  }
  if (!launch.sms) return decide(ExecutionMode::Worker, PartialSms);
  const std::int64_t places = launch.max_residency * static_cast<std::int64_t>(launch.sms->size());
  const std::optional<Duration> expected = history.expected_time(launch.kernel, launch.blocks, places);
  if (!expected) return decide(ExecutionMode::Worker, UnknownTime);
  choice.expected = *expected;
  if (history.is_mispredicted(launch.kernel)) return decide(ExecutionMode::Worker, Mispredicted);
  const bool begins_at_once = has_all_sms && launch.blocks <= places;
  if (begins_at_once && !launch.is_behind_workers && *expected <= limits.brief)
    return decide(ExecutionMode::Original, Brief, limits.brief_at_most());
  if (launch.original_up_to == Duration{} || *expected > launch.original_up_to)
    return decide(ExecutionMode::Worker, TooLong);
  // On some SMs only, a trial in the original form would need a green context, which costs a drain.
  if (!history.original_may_be_faster(launch.kernel, launch.sms->size(), has_all_sms))
    return decide(ExecutionMode::Worker, FasterAsWorkers);
  return decide(ExecutionMode::Original, ShortAndNotSlower, launch.original_up_to);
}

}  // namespace gpushare
