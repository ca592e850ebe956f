// SPDX-License-Identifier: Apache-2.0
#include "core/residency/dedicated_sms.hpp"

#include <algorithm>
#include <span>

namespace gpushare {
namespace {

constexpr std::size_t own_part = 4;  // at most a quarter of all SMs is emptied

bool is_small(const ResidencyRequest& launch) {
  return launch.unclaimed > 0 && launch.unclaimed < static_cast<std::int64_t>(launch.wanted.size());
}

bool is_there(const ResidencyRequest& launch, std::size_t sm) { return launch.present[sm] > 0; }

/// Without known places of its blocks this cannot be predicted.
bool leaves_soon(const ResidencyRequest& launch) {
  if (!launch.is_seen) return launch.unclaimed == 0;
  return launch.leaves_soon || std::ranges::all_of(launch.present, [](int workers) { return workers == 0; });
}

/// By SM: has it no blocks?
std::vector<char> idle_sms(std::span<const ResidencyRequest> launches, std::size_t sms) {
  std::vector<char> idle(sms, 1);
  for (const ResidencyRequest& launch : launches) {
    for (std::size_t sm = 0; sm < sms; ++sm) {
      if (is_there(launch, sm)) idle[sm] = 0;
    }
  }
  return idle;
}

/// Would the idle SMs hold the launch? Then no other launch need leave.
bool finds_places(const std::vector<char>& idle, const ResidencyRequest& launch) {
  std::int64_t places = 0;
  for (std::size_t sm = 0; sm < idle.size(); ++sm) places += idle[sm] != 0 ? launch.wanted[sm] : 0;
  return places >= launch.unclaimed;
}

/// The first rank after which all launches leave soon.
std::size_t first_to_be_let_by(std::span<const ResidencyRequest> launches) {
  std::size_t rank = launches.size();
  while (rank > 0 && leaves_soon(launches[rank - 1])) --rank;
  return rank == 0 ? 0 : rank - 1;
}

/// Takes SMs one by one, starting with the last.
class DedicatedSms {
 public:
  explicit DedicatedSms(std::size_t sms) : next_(sms), left_(std::max<std::size_t>(1, sms / own_part)) {}

  void give(ResidencyRequest& launch, std::span<const ResidencyRequest> before) {
    std::vector<int> own(launch.wanted.size());
    std::int64_t places = 0;
    std::size_t sm = next_;
    std::size_t left = left_;
    while (places < launch.unclaimed && left > 0 && sm > 0) {
      --sm;
      const auto stays = [&](const ResidencyRequest& each) { return is_there(each, sm); };
      if (launch.wanted[sm] == 0 || std::ranges::any_of(before, stays)) continue;
      places += own[sm] = launch.wanted[sm];
      --left;
    }
    const bool are_too_few = places < launch.unclaimed && left > 0;
    if (are_too_few) return;
    launch.wanted = std::move(own);
    launch.unclaimed = places;
    next_ = sm;
    left_ = left;
  }

 private:
  std::size_t next_;  // the SMs from here on are assigned, or cannot be emptied
  std::size_t left_;
};

}  // namespace

void request_dedicated_sms(std::vector<ResidencyRequest>& launches) {
  const auto may_have_own = [](const ResidencyRequest& launch) { return launch.is_brief && is_small(launch); };
  if (std::ranges::none_of(launches, may_have_own)) return;
  const std::size_t sms = launches.front().wanted.size();
  const std::vector<char> idle = idle_sms(launches, sms);
  DedicatedSms own(sms);
  for (std::size_t rank = first_to_be_let_by(launches); rank < launches.size(); ++rank) {
    ResidencyRequest& launch = launches[rank];
    if (may_have_own(launch) && !finds_places(idle, launch)) own.give(launch, std::span(launches).first(rank));
  }
}

}  // namespace gpushare
