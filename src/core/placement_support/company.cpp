// SPDX-License-Identifier: Apache-2.0
#include "core/placement_support/company.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/kernel_rates/launch_rate.hpp"
#include "core/model/residency.hpp"
#include "core/tuning/allocation/contention_model.hpp"

namespace gpushare {
namespace {

constexpr double least_speed = 1e-3;

/// Applications that only take turns have the same STP in any division among devices; the square root makes the even
/// one worth most.
constexpr double weight_of_even_division = 0.02;

double worth_of(double speed) { return speed + weight_of_even_division * std::sqrt(speed); }

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// The speed of an application whose launches run at this one: what it does between them takes as long as ever.
double with_pauses(const Work& work, double speed) {
  const double share = work.launch_share;
  return 1 / (1 - share + share / std::max(speed, least_speed));
}

/// One launch after the other, in turn; pauses of one are filled by the others.
std::vector<double> in_turn(std::span<const Companion> companions) {
  double busy = 0;
  for (const Companion& each : companions) busy += each.work.launch_share;
  return std::vector<double>(companions.size(), std::min(1.0, 1 / busy));
}

/// A launch of few blocks does not need all SMs, and on fewer of them its last round may be emptier.
double rate_in(const Device& device, const Launch& launch, double speed, int places) {
  return std::min(launch_rate_alone(device, launch),
                  speed * rate_alone(device, launch.kernel) * places_used(launch, 1, std::max(places, 1)));
}

std::vector<double> side_by_side(const Device& device, std::span<const Companion> companions,
                                 const ContentionModel& model, const SmAllocation& allocation) {
  std::vector<double> speeds = model.estimate(allocation).speeds;
  for (std::size_t i = 0; i < companions.size(); ++i) {
    const Launch& launch = *companions[i].work.longest;
    const double rate = rate_in(device, launch, speeds[i], blocks_in(allocation, i));
    speeds[i] = with_pauses(companions[i].work, rate / launch_rate_alone(device, launch));
  }
  return speeds;
}

/// Those of the applications that have launches; as cautious as policies are where SMs are shared.
std::vector<double> best_speeds(const Device& device, std::span<const Companion> companions) {
  if (companions.size() < 2) return std::vector<double>(companions.size(), 1.0);
  std::vector<Contender> contenders;
  for (const Companion& each : companions) {
    const Kernel& kernel = each.work.longest->kernel;
    contenders.push_back({.kernel = &kernel, .max_residency = max_residency(device, kernel.needs)});
  }
  if (static_cast<int>(companions.size()) > device.sms) return in_turn(companions);
  const ContentionModel model(device, contenders);
  std::vector<double> best = side_by_side(device, companions, model, equal_partition(device, contenders));
  const SmAllocation shared = proportional_allocation(device, contenders);
  if (shared.empty()) return best;
  const std::vector<double> speeds = side_by_side(device, companions, model, shared);
  return sum(speeds) > device.tuning.gain_of_sharing * sum(best) ? speeds : best;
}

/// Applications without launches have all of their speed.
std::vector<double> speeds_with_copiers(const Device& device, std::span<const Companion> companions) {
  std::vector<Companion> with_launches;
  for (const Companion& each : companions) {
    if (each.work.longest != nullptr) with_launches.push_back(each);
  }
  const std::vector<double> best = best_speeds(device, with_launches);
  auto next = best.begin();
  std::vector<double> speeds;
  for (const Companion& each : companions) speeds.push_back(each.work.longest != nullptr ? *next++ : 1.0);
  return speeds;
}

}  // namespace

const std::vector<double>& Company::speeds(const PlacementDevice& on, std::span<const Companion> companions) {
  std::vector<ApplicationId> ids;
  for (const Companion& each : companions) ids.push_back(each.application);
  return known_.find_or({on.workload, std::move(ids)}, [&] { return speeds_with_copiers(*on.device, companions); });
}

double Company::worth(const PlacementDevice& on, std::span<const Companion> companions) {
  std::vector<Companion> awaited(companions.begin(), companions.end());
  std::ranges::stable_sort(awaited, std::greater<>{}, &Companion::comes);  // the next one is the last
  std::vector<Companion> there;
  std::vector<double> left;
  double worth = 0;
  double now = 0;
  while (!there.empty() || !awaited.empty()) {
    double next = awaited.empty() ? std::numeric_limits<double>::infinity() : awaited.back().comes;
    const std::vector<double>* speeds = nullptr;
    if (!there.empty()) {
      speeds = &this->speeds(on, there);
      for (std::size_t i = 0; i < there.size(); ++i) next = std::min(next, now + left[i] / (*speeds)[i]);
    }
    std::vector<Companion> staying;
    std::vector<double> still_left;
    for (std::size_t i = 0; i < there.size(); ++i) {
      const double rest = left[i] - (next - now) * (*speeds)[i];
      if (now + left[i] / (*speeds)[i] <= next || rest <= 0) {
        worth += worth_of(there[i].alone / std::max(there[i].waited + next, 1.0));
      } else {
        staying.push_back(there[i]);
        still_left.push_back(rest);
      }
    }
    now = next;
    for (; !awaited.empty() && awaited.back().comes <= now; awaited.pop_back()) {
      const auto place = std::ranges::upper_bound(staying, awaited.back().application, {}, &Companion::application);
      still_left.insert(still_left.begin() + (place - staying.begin()), awaited.back().work.total);
      staying.insert(place, awaited.back());
    }
    there = std::move(staying);
    left = std::move(still_left);
  }
  return worth;
}

}  // namespace gpushare
