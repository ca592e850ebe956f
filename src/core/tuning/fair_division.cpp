// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/fair_division.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "core/tuning/owner_weights.hpp"
#include "core/tuning/sm_shares.hpp"

namespace gpushare {
namespace {

constexpr int not_worth_moving = 1;  // SMs
/// Of a period, the most that is made up for: whoever is owed so much is not helped by waiting.
constexpr double most_owed = 0.99;

bool are_close(const std::vector<SmPart>& one, const std::vector<SmPart>& other) {
  return std::ranges::equal(one, other, [](const SmPart& left, const SmPart& right) {
    return left.application == right.application && std::abs(left.sms - right.sms) <= not_worth_moving;
  });
}

}  // namespace

void FairDivision::divide(const State& state, const Attendance& attendance) {
  std::vector<Claim> all = claims(state, attendance);
  weigh(all, state);
  std::vector<ApplicationId> present;
  for (const Claim& each : all) {
    present.push_back(each.application);
    time_.weigh(each.application, each.weight, state);
  }
  time_.forgive(present, nanoseconds(period_), state);
  const double mean = time_.mean(present, state);
  for (Claim& each : all) each.served = time_.virtual_time(each.application, state);
  all = least_served(std::move(all), state);
  const std::vector<int> sms = shares(all, mean, state);
  const bool is_much_owed = std::ranges::any_of(
      all, [&](const Claim& each) { return mean - each.served >= most_owed * nanoseconds(period_); });
  std::vector<SmPart> parts;
  for (std::size_t i = 0; i < all.size(); ++i) parts.push_back({.application = all[i].application, .sms = sms[i]});
  if (is_much_owed || !are_close(parts, parts_)) parts_ = std::move(parts);
}

void FairDivision::weigh(std::vector<Claim>& claims, const State& state) {
  std::vector<OwnWeight> own;
  for (const Claim& each : claims) own.push_back({.application = each.application, .weight = each.own_weight});
  const std::vector<double> weights = weights_among_owners(own, state);
  for (std::size_t i = 0; i < claims.size(); ++i) claims[i].weight = weights[i];
}

// Each has an SM at least, so that an owner has no more of them at a time than SMs are his.
std::vector<FairDivision::Claim> FairDivision::least_served(std::vector<Claim> claims, const State& state) {
  const auto sms = static_cast<std::size_t>(state.sms());
  std::vector<Claim> found = claims;
  std::ranges::stable_sort(found, {}, &Claim::served);
  double weights = 0;
  std::map<std::string_view, double> places;  // that an owner has left
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

std::vector<FairDivision::Claim> FairDivision::claims(const State& state, const Attendance& attendance) const {
  std::vector<Claim> found;
  for (const RunningLaunch& launch : state.running()) {
    const std::int64_t useful = (launch.unfinished() + launch.max_residency - 1) / launch.max_residency;
    found.push_back({.application = launch.application,
                     .own_weight = launch.weight,
                     .most = static_cast<int>(std::clamp<std::int64_t>(useful, 1, state.sms()))});
  }
  for (const auto& each : attendance.expected(state.now())) {
    if (static_cast<int>(found.size()) == state.sms()) break;  // whoever is there goes before who is not
    found.push_back({.application = each.application, .own_weight = each.weight, .most = state.sms()});
  }
  std::ranges::stable_sort(found, {}, [&](const Claim& claim) { return claim.application; });
  return found;
}

std::vector<int> FairDivision::shares(const std::vector<Claim>& claims, double mean, const State& state) const {
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
  return sm_shares(wanted, most, state.sms());
}

}  // namespace gpushare
