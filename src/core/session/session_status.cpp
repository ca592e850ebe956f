// SPDX-License-Identifier: Apache-2.0
#include "core/session/session_status.hpp"

#include <algorithm>
#include <cmath>

#include "core/kernel_rates/launch_rate.hpp"

namespace gpushare {
namespace {

Quota quota_of(const Plan& plan, OperationId launch) {
  const auto share = std::ranges::find(plan.shares, launch, &Share::launch);
  return share == plan.shares.end() ? Quota::nowhere() : share->quota;
}

const char* state_of(const RunningLaunch& launch, const Quota& quota) {
  const bool is_resident = launch.started > launch.done;
  if (quota.largest() > 0) return is_resident || launch.done > 0 ? "running" : "starting";
  if (!is_resident) return "waiting";
  return launch.unstarted() > 0 ? "leaving" : "running";
}

void describe(const RunningLaunch& launch, const OpenRun& run, Time now, ApplicationStatus& status) {
  const Quota quota = quota_of(run.plan(), launch.id);
  status.state = state_of(launch, quota);
  status.kernel = launch.launch->kernel.name;
  status.blocks = launch.blocks();
  status.started = launch.started;
  status.done = launch.done;
  status.quota = short_form(quota);
  status.sm_time += sm_time(launch, now);
  status.remaining = remaining_time(launch, run.state(), now);
}

/// The operation that the device gets next. The ordering has not let it go, or it is held.
const OperationId* first_of(const OpenStream& stream) {
  if (!stream.waiting.empty()) return &stream.waiting.front();
  return stream.unissued.empty() ? nullptr : &stream.unissued.front().id;
}

void describe_first(const Operation& operation, ApplicationStatus& status) {
  status.state = "waiting";
  --status.waiting;
  const auto* launch = std::get_if<Launch>(&operation);
  if (launch == nullptr) return;
  status.kernel = launch->kernel.name;
  status.blocks = launch->blocks;
}

/// Those in flight are half done, as a guess.
double sm_time_per_block(const RunningLaunch& launch, Time now) {
  const auto in_flight = static_cast<double>(launch.started - launch.done);
  return nanoseconds(sm_time(launch, now)) / (static_cast<double>(launch.done) + in_flight / 2);
}

/// The SMs that the launch would have alone: all that it has blocks left for, and those that it is on.
double sms_alone(const RunningLaunch& launch, const State& state) {
  const auto is_on = [](const SmProgress& sm) { return sm.resident > 0; };
  const std::int64_t useful = (launch.unfinished() + launch.max_residency - 1) / launch.max_residency;
  const auto held = std::int64_t{std::ranges::count_if(launch.per_sm, is_on)};
  return static_cast<double>(std::clamp<std::int64_t>(useful, std::max<std::int64_t>(held, 1), state.sms()));
}

/// An application without work is not late.
bool is_late(const Application& application, const OpenStream& stream, const Tally& tally,
             const ApplicationStatus& status) {
  if (!application.deadline) return false;
  const bool is_busy = stream.current || !stream.waiting.empty() || !stream.unissued.empty();
  const Duration last = tally.last_end - Time(application.arrival);
  return (is_busy ? status.elapsed + status.remaining.value_or(Duration{}) : last) > *application.deadline;
}

Duration rounded(double nanoseconds) { return Duration(std::llround(nanoseconds)); }

}  // namespace

std::string short_form(const Quota& quota) {
  if (quota.is_uniform()) return std::to_string(quota.at(SmId{}));
  std::string text;
  for (std::size_t first = 0, end = 0; first < quota.size(); first = end) {
    const int blocks = quota.at(static_cast<SmId>(first));
    while (end < quota.size() && quota.at(static_cast<SmId>(end)) == blocks) ++end;
    if (blocks == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(blocks) + " on " + std::to_string(first);
    if (end - first > 1) text += "-" + std::to_string(end - 1);
  }
  return text.empty() ? "0" : text;
}

std::optional<Duration> remaining_time(const RunningLaunch& launch, const State& state, Time now) {
  const auto left = static_cast<double>(launch.unfinished());
  if (launch.done > 0) return rounded(left * sm_time_per_block(launch, now) / sms_alone(launch, state));
  if (launch.launch->kernel.is_profiled) return rounded(left / launch_rate_alone(state.device(), *launch.launch));
  return std::nullopt;
}

SessionStatus status_of(const OpenRun& run, Time now) {
  SessionStatus status{.now = now};
  for (const auto& [id, stream] : run.streams()) {
    if (stream.has_ended) continue;
    const Application& application = run.state().application(id);
    const Tally& tally = run.tally(id);
    ApplicationStatus each{.id = id,
                           .name = application.name,
                           .priority = run.state().priority(id),
                           .weight = application.weight,
                           .waiting = stream.waiting.size() + stream.unissued.size(),
                           .sm_time = tally.sm_time,
                           .operations = tally.operations,
                           .preemptions = tally.preemptions,
                           .elapsed = now - Time(application.arrival)};
    const RunningLaunch* launch = stream.current ? run.state().find(*stream.current) : nullptr;
    if (launch != nullptr) describe(*launch, run, now, each);
    if (stream.current && launch == nullptr) each.state = "copying";
    const OperationId* first = first_of(stream);
    if (!stream.current && first != nullptr) describe_first(run.operation(*first), each);
    if (stream.is_withdrawn) each.state = "cancelled";
    each.is_late = is_late(application, stream, tally, each);
    status.applications.push_back(std::move(each));
  }
  return status;
}

}  // namespace gpushare
