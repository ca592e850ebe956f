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

/// Equal blocks on different SMs want and get the same: traffic is counted by kind and not by SM, and where requests
/// wait, by SMs with the same blocks.
void BandwidthSharing::collect(std::span<StreamingMultiprocessor> sms) {
  traffics_.clear();
  users_.clear();
  alike_.clear();
  for (std::size_t sm = 0; sm < sms.size(); ++sm) {
    here_.clear();
    for (ResidentGroup& group : sms[sm].groups()) {
      const bool uses_memory = group.traffic.bytes > 0 || group.traffic.wait.depends_on_load();
      // Whom older blocks kept waiting may use memory no more, and still has the share from then.
      if (uses_memory || group.bandwidth_share != 1) here_.push_back(&group);
    }
    if (here_.empty()) continue;
    off_sm_.delay.is_none() ? add_by_kind(sm) : add_by_sm(sm);
  }
}

void BandwidthSharing::add_by_kind(std::size_t sm) {
  for (ResidentGroup* group : here_) {
    const std::size_t kind = kind_of(group->traffic);
    traffics_[kind].blocks += group->resident();
    users_.push_back({sm, group, kind});
  }
}

void BandwidthSharing::add_by_sm(std::size_t sm) {
  const std::size_t first = first_of_alike();
  for (std::size_t i = 0; i < here_.size(); ++i) {
    traffics_[first + i].blocks += here_[i]->resident();
    ++traffics_[first + i].sms;
    users_.push_back({sm, here_[i], first + i});
  }
}

/// The first of the traffics of SMs with the same blocks, which are contiguous.
std::size_t BandwidthSharing::first_of_alike() {
  // Neighbours are mostly alike: try what was found last.
  if (!users_.empty()) {
    const std::size_t last = alike_[traffics_[users_.back().traffic].group];
    if (is_alike(last)) return last;
  }
  const auto known = std::ranges::find_if(alike_, [&](std::size_t first) { return is_alike(first); });
  if (known != alike_.end()) return *known;
  const std::size_t first = traffics_.size();
  for (const ResidentGroup* group : here_) {
    traffics_.push_back(group->traffic);
    traffics_.back().group = alike_.size();
    traffics_.back().sms = 0;
  }
  alike_.push_back(first);
  return first;
}

bool BandwidthSharing::is_alike(std::size_t first) const {
  const std::size_t group = traffics_[first].group;
  const std::size_t end = group + 1 < alike_.size() ? alike_[group + 1] : traffics_.size();
  if (end - first != here_.size()) return false;
  for (std::size_t i = 0; i < here_.size(); ++i) {
    const Traffic& known = traffics_[first + i];
    if (known.blocks != known.sms * here_[i]->resident() || !known.same_kind(here_[i]->traffic)) return false;
  }
  return true;
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
