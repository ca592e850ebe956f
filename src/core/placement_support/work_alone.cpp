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
  const std::vector<double>& from = operations.total_from;
  const std::size_t next = application.ended_operations;
  const std::size_t free = std::min(next + application.due_operations, from.size() - 1);
  const double done = next + 1 < from.size() ? application.part_ended * (from[next] - from[next + 1]) : 0;
  operations.left.total = from[next] - done;
  operations.left.due = std::max(from[next] - done - from[free], 0.0);
  return operations.left;
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
  double on_sms = 0;
  std::map<std::string, double> by_kernel;
  for (std::size_t i = operations.size(); i-- > 0;) {
    const auto* launch = std::get_if<Launch>(&operations[i]);
    double time = 0;
    if (launch != nullptr) {
      const bool follows = i > 0 && std::holds_alternative<Launch>(operations[i - 1]);
      const double blocks = launch_time(on, *launch);
      time = blocks + nanoseconds(delay(on.device->delays, follows));
      on_sms += blocks;
      const double of_kernel = by_kernel[launch->kernel.name] += blocks;
      const Launch*& longest = made.left.longest;
      if (longest == nullptr || of_kernel >= by_kernel[longest->kernel.name]) longest = launch;
    } else {
      time = copy_time(*on.device, std::get<Copy>(operations[i]));
    }
    made.total_from[i] = made.total_from[i + 1] + time + pause(pace_of(operations[i]), time);
  }
  made.left.launch_share = on_sms / std::max(made.total_from.front(), 1.0);
  return made;
}

double WorkAlone::launch_time(const PlacementDevice& on, const Launch& launch) {
  const auto [found, is_new] =
      launch_times_.try_emplace({on.workload, launch.kernel.needs, launch.kernel.cost, launch.blocks});
  if (is_new) found->second = static_cast<double>(launch.blocks) / launch_rate_alone(*on.device, launch);
  return found->second;
}

}  // namespace gpushare
