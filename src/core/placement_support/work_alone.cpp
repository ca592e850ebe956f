// SPDX-License-Identifier: Apache-2.0
#include "core/placement_support/work_alone.hpp"

#include <algorithm>
#include <string>

#include "core/kernel_rates/launch_rate.hpp"

namespace gpushare {
namespace {

double copy_time(const Device& device, const Copy& copy) {
  const CopyEngine& engine = copy.direction == Copy::Direction::ToDevice ? device.to_device : device.to_host;
  return nanoseconds(engine.latency) + static_cast<double>(copy.size.count) / engine.bandwidth.bytes_per_second * 1e9;
}

/// What a launch takes beside its blocks: less where it waits in hardware behind the one before it.
Duration delay(const CommandDelays& delays, bool follows_a_launch) {
  return follows_a_launch && delays.follow > Duration::zero() ? delays.follow : delays.launch + delays.completion;
}

/// The time by which its host delays an operation that takes so long.
double pause(const HostPace& pace, double time) {
  return std::max(nanoseconds(pace.host) - time, 0.0) + nanoseconds(pace.after.value_or(Duration{})) +
         nanoseconds(pace.gap);
}

}  // namespace

const Work& WorkAlone::left(const PlacementDevice& on, const PresentApplication& application) {
  Operations& operations = operations_of(on, application.id);
  const std::size_t next = application.ended_operations;
  Work& left = operations.left;
  left = {.longest = operations.longest};
  if (next + 1 >= operations.total_from.size()) return left;
  const double ended = application.part_ended;
  const double time = operations.total_from[next] - operations.total_from[next + 1];
  const double on_sms = operations.launches_from[next] - operations.launches_from[next + 1];
  left.total = operations.total_from[next] - ended * time;
  left.launches = operations.launches_from[next] - ended * on_sms;
  left.due = operations.total_from[next] -
             operations.total_from[std::min(next + application.due_operations, operations.total_from.size() - 1)] -
             ended * time;
  return left;
}

double WorkAlone::total(const PlacementDevice& on, ApplicationId application) {
  return operations_of(on, application).total_from.front();
}

WorkAlone::Operations& WorkAlone::operations_of(const PlacementDevice& on, ApplicationId application) {
  const auto [found, is_new] = known_.try_emplace({on.workload, application});
  Operations& made = found->second;
  if (!is_new) return made;
  const std::vector<Operation>& operations = on.workload->applications[index(application)].operations;
  made.total_from.assign(operations.size() + 1, 0.0);
  made.launches_from.assign(operations.size() + 1, 0.0);
  std::map<std::string, double> by_kernel;
  for (std::size_t i = operations.size(); i-- > 0;) {
    const auto* launch = std::get_if<Launch>(&operations[i]);
    const double on_sms = launch != nullptr ? launch_time(*on.device, *launch) : 0;
    const bool follows = i > 0 && std::holds_alternative<Launch>(operations[i - 1]);
    const double time = launch != nullptr ? on_sms + nanoseconds(delay(on.device->delays, follows))
                                          : copy_time(*on.device, std::get<Copy>(operations[i]));
    made.total_from[i] = made.total_from[i + 1] + time + pause(pace_of(operations[i]), time);
    made.launches_from[i] = made.launches_from[i + 1] + on_sms;
    if (launch == nullptr) continue;
    const double of_kernel = by_kernel[launch->kernel.name] += on_sms;
    if (made.longest == nullptr || of_kernel >= by_kernel[made.longest->kernel.name]) made.longest = launch;
  }
  return made;
}

double WorkAlone::launch_time(const Device& device, const Launch& launch) {
  const auto [found, is_new] =
      launch_times_.try_emplace({device.name, launch.kernel.needs, launch.kernel.cost, launch.blocks});
  if (is_new) found->second = static_cast<double>(launch.blocks) / launch_rate_alone(device, launch);
  return found->second;
}

}  // namespace gpushare
