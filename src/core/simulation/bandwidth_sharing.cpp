// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/bandwidth_sharing.hpp"

#include <algorithm>

namespace gpushare {

std::span<const std::size_t> BandwidthSharing::share(std::span<StreamingMultiprocessor> sms, double now) {
  collect(sms);
  const std::vector<double> shares = bandwidth_shares(traffics_, off_sm_);
  changed_.clear();
  for (const User& user : users_) {
    const double share = shares[user.traffic];
    if (share == user.group->bandwidth_share) continue;
    sms[user.sm].advance(now);
    user.group->set_bandwidth_share(share);
    if (changed_.empty() || changed_.back() != user.sm) changed_.push_back(user.sm);
  }
  return changed_;
}

/// Equal blocks on different SMs want and get the same: traffic is counted by kind and not by SM.
void BandwidthSharing::collect(std::span<StreamingMultiprocessor> sms) {
  traffics_.clear();
  users_.clear();
  for (std::size_t sm = 0; sm < sms.size(); ++sm) {
    for (ResidentGroup& group : sms[sm].groups()) {
      if (group.traffic.bytes == 0 && !group.traffic.wait.depends_on_load()) continue;
      const std::size_t kind = kind_of(group.traffic);
      traffics_[kind].blocks += group.resident();
      users_.push_back({sm, &group, kind});
    }
  }
}

std::size_t BandwidthSharing::kind_of(const Traffic& traffic) {
  // Neighbours are mostly alike: try the kind found last.
  if (!users_.empty() && traffics_[users_.back().traffic].same_kind(traffic)) return users_.back().traffic;
  const auto same = std::ranges::find_if(traffics_, [&](const Traffic& other) { return other.same_kind(traffic); });
  const auto kind = static_cast<std::size_t>(same - traffics_.begin());
  if (same == traffics_.end()) traffics_.push_back(traffic);
  return kind;
}

}  // namespace gpushare
