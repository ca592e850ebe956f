// SPDX-License-Identifier: Apache-2.0
#include "core/residency/contenders.hpp"

#include <algorithm>

namespace gpushare {
namespace {

/// The SMs that no selected launch waits for.
class UnsoughtSms {
 public:
  explicit UnsoughtSms(std::size_t sms) : is_unsought_(sms, 1), left_(sms) {}

  bool any_in(std::span<const int> wanted) const {
    if (left_ == 0) return false;
    for (std::size_t sm = 0; sm < wanted.size(); ++sm) {
      if (wanted[sm] > 0 && is_unsought_[sm] != 0) return true;
    }
    return false;
  }

  void seek(std::span<const int> wanted) {
    if (left_ == 0) return;
    for (std::size_t sm = 0; sm < wanted.size(); ++sm) {
      if (wanted[sm] == 0 || is_unsought_[sm] == 0) continue;
      is_unsought_[sm] = 0;
      --left_;
    }
  }

 private:
  std::vector<char> is_unsought_;
  std::size_t left_;
};

bool wants_any(const RankedLaunch& launch) {
  return std::ranges::any_of(launch.wanted, [](int wanted) { return wanted > 0; });
}

}  // namespace

std::vector<std::size_t> contenders(std::span<const RankedLaunch> ranked, std::size_t most, std::size_t least) {
  const auto begun = static_cast<std::size_t>(std::ranges::count_if(ranked, &RankedLaunch::has_begun));
  std::size_t may_wait = std::max(least, most - std::min(begun, most));
  UnsoughtSms unsought(ranked.empty() ? 0 : ranked.front().wanted.size());
  std::vector<std::size_t> found;
  for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
    if (!ranked[rank].has_begun) {
      const bool is_among_first = may_wait > 0 && wants_any(ranked[rank]);
      if (!is_among_first && !unsought.any_in(ranked[rank].wanted)) continue;
      if (is_among_first) --may_wait;
      unsought.seek(ranked[rank].wanted);
    }
    found.push_back(rank);
  }
  return found;
}

}  // namespace gpushare
