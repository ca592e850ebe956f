// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/allocation/fair_allocation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "core/tuning/allocation/rounded_sm_shares.hpp"
#include "core/tuning/owner_weights.hpp"
#include "core/tuning/tuning.hpp"

namespace gpushare {
namespace {

bool are_close(const std::vector<SmPart>& one, const std::vector<SmPart>& other) {
  return std::ranges::equal(one, other, [](const SmPart& left, const SmPart& right) {
    return left.application == right.application && std::abs(left.sms - right.sms) <= Tuning::sms_not_worth_moving;
  });
}

}  // namespace

void FairAllocation::update(const State& state, const ActiveApplications& active) {
  std::vector<Claim> all = claims(state, active);
  weigh(all, state);
  std::vector<ApplicationId> present;
  for (const Claim& each : all) {
    present.push_back(each.application);
    time_.set_weight(each.application, each.weight, state);
  }
  time_.limit_lag(present, nanoseconds(period_), state);
  const double mean = time_.mean(present, state);
  for (Claim& each : all) each.served = time_.virtual_time(each.application, state);
  all = least_served(std::move(all), state);
  const std::vector<int> sms = shares(all, mean, state);
  const bool is_late = std::ranges::any_of(
      all, [&](const Claim& each) { return mean - each.served >= Tuning::most_lag * nanoseconds(period_); });
  std::vector<SmPart> parts;
  for (std::size_t i = 0; i < all.size(); ++i) parts.push_back({.application = all[i].application, .sms = sms[i]});
  if (is_late || !are_close(parts, parts_)) parts_ = std::move(parts);
}

void FairAllocation::weigh(std::vector<Claim>& claims, const State& state) {
  std::vector<OwnWeight> own;
  for (const Claim& each : claims) own.push_back({.application = each.application, .weight = each.own_weight});
  const std::vector<double> weights = weights_among_owners(own, state);
  for (std::size_t i = 0; i < claims.size(); ++i) claims[i].weight = weights[i];
}

// Every application has an SM at least, so that no more of an owner's are served at a time than its share has SMs.
std::vector<FairAllocation::Claim> FairAllocation::least_served(std::vector<Claim> claims, const State& state) {
  const auto sms = static_cast<std::size_t>(state.sms());
  std::vector<Claim> found = claims;
  std::ranges::stable_sort(found, {}, &Claim::served);
  double weights = 0;
  std::map<std::string_view, double> places;  // left to each owner
  for (const Claim& each : found) {
    weights += each.weight;
    places[state.application(each.application).owner] += each.weight;
  }
  for (auto& [owner, left] : places) left = std::max(1.0, std::floor(state.sms() * left / weights));
  std::erase_if(found, [&](const Claim& each) {
    const std::string& owner = state.application(each.application).owner;
    return !owner.empty() && --places.at(owner) < 0;
  });
  if (found.size() > sms) found.resize(sms);
  if (found.size() == claims.size()) return claims;
  weigh(found, state);
  return found;
}

std::vector<FairAllocation::Claim> FairAllocation::claims(const State& state, const ActiveApplications& active) const {
  std::vector<Claim> found;
  for (const RunningLaunch& launch : state.running()) {
    const std::int64_t useful = (launch.unfinished() + launch.max_residency - 1) / launch.max_residency;
    found.push_back({.application = launch.application,
                     .own_weight = launch.weight,
                     .most = static_cast<int>(std::clamp<std::int64_t>(useful, 1, state.sms()))});
  }
  for (const auto& each : active.predicted_arrivals(state.now())) {
    if (static_cast<int>(found.size()) == state.sms()) break;  // a running launch goes before a predicted one
    found.push_back({.application = each.application, .own_weight = each.weight, .most = state.sms()});
  }
  std::ranges::stable_sort(found, {}, [&](const Claim& claim) { return claim.application; });
  return found;
}

std::vector<int> FairAllocation::shares(const std::vector<Claim>& claims, double mean, const State& state) const {
  double weights = 0;
  for (const Claim& each : claims) weights += each.weight;
  std::vector<double> wanted;
  std::vector<int> most;
  for (const Claim& each : claims) {
    const double part = state.sms() * each.weight / weights;
    const double behind = mean - each.served;
    wanted.push_back(std::clamp(part + behind * each.weight / nanoseconds(period_), part / 2, 2 * part));
    most.push_back(each.most);
  }
  return rounded_sm_shares(wanted, most, state.sms());
}

}  // namespace gpushare
