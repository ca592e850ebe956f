// SPDX-License-Identifier: Apache-2.0
#include "core/placement_support/live_placement.hpp"

#include <algorithm>
#include <deque>
#include <limits>

#include "core/kernel_rates/launch_rate.hpp"
#include "core/model/errors.hpp"
#include "core/placement_support/room.hpp"
#include "core/placements/registry.hpp"

namespace gpushare {
namespace {

constexpr double time_of_each = 1e9;  // nanoseconds alone; any time, as long as all have the same

double time_alone(const Device& device, const Launch& launch) {
  return static_cast<double>(launch.blocks) / launch_rate_alone(device, launch);
}

Duration times(Duration duration, double factor) {
  return Duration(static_cast<std::int64_t>(nanoseconds(duration) * factor));
}

/// One launch that takes as long as so many, with the pauses between them. What it needs of an SM, and how much of its
/// time it spends where, stay.
Launch repeated(const Device& device, Launch launch, double count) {
  BlockCost& cost = launch.kernel.cost;
  cost.latency = times(cost.latency, count);
  cost.issue = std::min(times(cost.issue, count), cost.latency);
  cost.memory = times(cost.memory, count);
  cost.off_sm.count = static_cast<std::int64_t>(static_cast<double>(cost.off_sm.count) * count);
  const CommandDelays& delays = device.delays;
  launch.pace = {};
  launch.pace.gap = times(delays.follow > Duration{} ? delays.follow : delays.launch + delays.completion, count);
  launch.alone.reset();
  return launch;
}

/// How often the first launch runs: for as long as any other application, on the device where that takes least.
double repeats(std::span<const Device* const> devices, const LiveApplication& application) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t device = 0; device < devices.size(); ++device) {
    const std::optional<Launch>& launch = application.first_launch[device];
    if (launch) least = std::min(least, time_alone(*devices[device], *launch));
  }
  return time_of_each / std::max(least, 1.0);
}

/// What is known of it, or a copy of the same length where that is nothing.
Operation operation_of(const Device& device, const LiveApplication& application, std::size_t on, double count) {
  const bool is_known = !application.first_launch.empty() && application.first_launch[on].has_value();
  if (is_known) return repeated(device, *application.first_launch[on], count);
  return Copy{.size = {static_cast<std::int64_t>(device.to_device.bandwidth.bytes_per_second * time_of_each / 1e9)}};
}

bool has_profiles(const LiveApplication& application) {
  return !application.first_launch.empty() &&
         std::ranges::all_of(application.first_launch,
                             [](const std::optional<Launch>& each) { return !each || each->kernel.is_profiled; });
}

bool can_run(const Device& device, const LiveApplication& application, std::size_t on) {
  if (!application.first_launch.empty() && !application.first_launch[on]) return false;
  return device.memory.count == 0 || application.memory.count <= device.memory.count;
}

std::string no_room(const LiveApplication& application, std::string_view where) {
  return "application '" + application.name + "' needs " + std::to_string(application.memory.count) +
         " bytes of memory, and " + std::string(where);
}

class Known {
 public:
  Known(std::span<const Device* const> devices, std::span<const LiveApplication> applications) {
    for (std::size_t on = 0; on < devices.size(); ++on) {
      Workload& workload = workloads_.emplace_back();
      PlacementDevice& known = devices_.emplace_back(PlacementDevice{.device = devices[on], .workload = &workload});
      for (const LiveApplication& each : applications) {
        workload.applications.push_back({.name = each.name, .operations = {}, .memory = each.memory});
        known.can_run.push_back(each.device ? index(*each.device) == on : can_run(*devices[on], each, on));
        const double count = has_profiles(each) ? repeats(devices, each) : 1;
        workload.applications.back().operations.push_back(operation_of(*devices[on], each, on, count));
      }
    }
    for (std::size_t id = 0; id < applications.size(); ++id) {
      // What is there has its only operation under way, so that it cannot be moved.
      const bool is_there = applications[id].device.has_value();
      state_.present.push_back({.id = static_cast<ApplicationId>(id),
                                .device = applications[id].device,
                                .has_memory = is_there,
                                .due_operations = is_there ? 1U : 0U});
    }
    state_.devices = devices_;
  }

  const PlacementState& state() const { return state_; }

 private:
  std::deque<Workload> workloads_;
  std::vector<PlacementDevice> devices_;
  PlacementState state_;
};

}  // namespace

std::vector<DeviceId> place_live(std::span<const Device* const> devices, std::span<const LiveApplication> applications,
                                 std::string_view placement) {
  std::unique_ptr<Placement> decides = make_placement(placement);
  const Known known(devices, applications);
  const auto fits_a_device = [&](std::size_t id) {
    return std::ranges::any_of(known.state().devices, [id](const PlacementDevice& each) { return each.can_run[id]; });
  };
  for (std::size_t id = 0; id < applications.size(); ++id) {
    require(fits_a_device(id), no_room(applications[id], "none of the devices that can run it has so much"));
  }
  const bool goes_by_kernels = !placement.starts_with("first-fit");
  if (goes_by_kernels && !std::ranges::all_of(applications, has_profiles)) decides = make_placement("least-loaded");
  std::vector<DeviceId> chosen = decides->decide(known.state());
  Room room(known.state());
  for (std::size_t id = 0; id < applications.size(); ++id) {
    if (applications[id].device) continue;
    require(room.fits(static_cast<ApplicationId>(id), chosen[id]),
            no_room(applications[id], "no device has so much left: free arrays or cancel an application first"));
    room.take(static_cast<ApplicationId>(id), chosen[id]);
  }
  return chosen;
}

}  // namespace gpushare
