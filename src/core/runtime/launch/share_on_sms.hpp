// SPDX-License-Identifier: Apache-2.0
// A launch's share of the plan in effect, SM by SM.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/engine/plan.hpp"

namespace gpushare {

class ShareOnSms {
 public:
  ShareOnSms(int sms, int max_residency) : max_residency_(max_residency), wanted_(static_cast<std::size_t>(sms)) {}

  void set(const Share& share, int rank) {
    rank_ = rank;
    // Blocks of an original launch queue in hardware, and no launch behind them gets the rest of an SM.
    original_up_to_ = share.leaves_rest ? Duration{} : share.whole_up_to;
    if (share.quota == quota_) return;
    quota_ = share.quota;
    for (std::size_t sm = 0; sm < wanted_.size(); ++sm) {
      wanted_[sm] = std::min(share.quota.at(static_cast<SmId>(sm)), max_residency_);
    }
    is_empty_ = std::ranges::all_of(wanted_, [](int wanted) { return wanted == 0; });
  }
  /// It keeps its rank and gets nothing.
  void clear() { set({.quota = Quota::nowhere()}, rank_); }

  /// By SM: how many workers it should have.
  const std::vector<int>& wanted() const { return wanted_; }
  bool is_empty() const { return is_empty_; }
  int rank() const { return rank_; }
  /// A launch that should end within this time has to begin, and need not be preemptible.
  Duration original_up_to() const { return original_up_to_; }

 private:
  int max_residency_;
  Quota quota_ = Quota::nowhere();
  std::vector<int> wanted_;
  bool is_empty_ = true;
  int rank_ = 0;
  Duration original_up_to_{};
};

}  // namespace gpushare
