// SPDX-License-Identifier: Apache-2.0
#include "core/mixing/seating.hpp"

#include <algorithm>
#include <functional>

namespace gpushare {
namespace {

double time_alone(const CataloguedKernel& kernel, std::int64_t blocks) {
  return kernel.rate_alone > 0 ? static_cast<double>(blocks) / kernel.rate_alone : 0;
}

bool is_small(const Device& device, const CataloguedKernel& kernel, std::int64_t blocks, Duration small) {
  if (small == Duration::zero()) return false;
  if (!kernel.kernel.is_profiled) return blocks * 4 <= device.sms;
  return kernel.kernel.cost.latency <= small && time_alone(kernel, blocks) < nanoseconds(small);
}

/// By priority, then in order of arrival.
void sort_by_urgency(std::vector<const RunningLaunch*>& launches) {
  std::ranges::stable_sort(launches, std::greater{}, [](const RunningLaunch* launch) { return launch->priority; });
}

}  // namespace

Seating seated(const State& state, const Attendance& attendance, Catalogue& catalogue, Duration small) {
  Seating seating;
  for (const RunningLaunch& launch : state.running()) {
    CataloguedKernel& kernel = catalogue.of(state.device(), launch.launch->kernel);
    if (launch.priority > 0 || is_small(state.device(), kernel, launch.blocks(), small)) {
      seating.first.push_back(&launch);
    } else if (seating.seats.size() < most_seats) {
      seating.seats.push_back({.application = launch.application,
                               .running = &launch,
                               .kernel = &kernel,
                               .alone = time_alone(kernel, launch.blocks()),
                               .contender = {&kernel.kernel, launch.max_residency, launch.weight}});
    } else {
      seating.waiting.push_back(&launch);
    }
  }
  sort_by_urgency(seating.first);
  for (const auto& each : attendance.expected(state.now())) {
    if (seating.seats.size() == most_seats) break;
    CataloguedKernel& kernel = catalogue.of(state.device(), each.launch->kernel);
    if (each.priority > 0 || is_small(state.device(), kernel, each.launch->blocks, small)) continue;
    seating.seats.push_back({.application = each.application,
                             .kernel = &kernel,
                             .alone = time_alone(kernel, each.launch->blocks),
                             .contender = {&kernel.kernel, each.max_residency, each.weight}});
  }
  std::ranges::sort(seating.seats, {}, [](const Seat& seat) { return seat.application; });
  return seating;
}

bool are_short(const Seating& seating, double longest_alone) {
  return std::ranges::all_of(
      seating.seats, [longest_alone](const Seat& seat) { return seat.alone > 0 && seat.alone <= longest_alone; });
}

}  // namespace gpushare
