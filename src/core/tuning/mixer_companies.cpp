// SPDX-License-Identifier: Apache-2.0
// The part of Mixer that meets companies of kernels and remembers them.
#include <algorithm>
#include <utility>

#include "core/tuning/mixer.hpp"

namespace gpushare {
namespace {

/// Of the time, for probes. A probe costs what it tries and two changes of quotas, after each of which a launch of
/// everybody has to wait for its host.
constexpr double share_for_much = 0.25;
/// Where SMs cannot be shared, other parts than equal ones bring little; and who has been promised a floor loses by
/// what is tried with others.
constexpr double share_for_little = 0.02;
/// Of the kernel as it was written, where that has been measured: what workers cost then counts.
double rate_to_compare(const CataloguedKernel& kernel) {
  return kernel.kernel.rate_as_written > 0 ? kernel.kernel.rate_as_written : kernel.rate_alone;
}

}  // namespace

Mixer::Known& Mixer::known_for(const Device& device) {
  Company company{{}, can_take_turns(seating_) && are_short(seating_, options_.longest_in_turns)};
  for (const Seat& seat : seating_.seats) {
    company.first.emplace_back(seat.kernel->number, seat.contender.weight, seat.contender.floor);
  }
  return known_.find_or(company, [&] { return meet(device); });
}

Refinement Mixer::refinement_from(const Device& device, const Division& start) const {
  std::vector<double> alone;
  for (const Seat& seat : seating_.seats) alone.push_back(rate_to_compare(*seat.kernel));
  ProbeOptions probes = start.empty() ? ProbeOptions{} : options_.probes;
  std::vector<Contender> all = contenders();
  if (probes.share == usual_share) {
    probes.share = may_experiment() && may_share_sms(device, all) ? share_for_much : share_for_little;
  }
  return Refinement(start, std::move(all), std::move(alone), bounds(), probes);
}

Mixer::Known Mixer::meet(const Device& device) const {
  const std::vector<Contender> all = contenders();
  if (is_cautious(device) && all.size() > 1 && static_cast<int>(all.size()) <= device.sms) {
    return begin_equal(device, all);
  }
  Choice choice = search(device, all);
  Refinement refinement = refinement_from(device, choice.division);
  return {.predicted = std::move(choice), .refinement = std::move(refinement)};
}

Mixer::Known Mixer::begin_equal(const Device& device, const std::vector<Contender>& all) const {
  Choice choice{.division = equal_parts(device, all)};
  std::unique_ptr<CautiousSearch> search;
  if (std::ranges::all_of(all, [](const Contender& each) { return each.kernel->is_profiled; })) {
    search = std::make_unique<CautiousSearch>(device, all, bounds());
    choice = search->equal();
  }
  Refinement refinement = refinement_from(device, choice.division);
  return {.predicted = std::move(choice), .refinement = std::move(refinement), .search = std::move(search)};
}

Choice Mixer::search(const Device& device, std::span<const Contender> contenders) const {
  if (contenders.empty()) return {};
  if (contenders.size() == 1) return {.division = {{.sms = device.sms, .blocks = {contenders[0].max_residency}}}};
  const bool are_profiled =
      std::ranges::all_of(contenders, [](const Contender& each) { return each.kernel->is_profiled; });
  if (!are_profiled) return {.division = proportional_division(device, contenders)};
  return best_division(Forecast(device, contenders), bounds());
}

}  // namespace gpushare
