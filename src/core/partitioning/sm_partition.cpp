// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/sm_partition.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>

namespace gpushare {

std::vector<int> even_parts(std::size_t applications, int sms) {
  const std::size_t parts = std::min(applications, static_cast<std::size_t>(sms));
  std::vector<int> even(applications, 0);
  for (std::size_t part = 0; part < parts; ++part) {
    const auto border = [&](std::size_t each) {
      return static_cast<int>(each * static_cast<std::size_t>(sms) / parts);
    };
    even[part] = border(part + 1) - border(part);
  }
  return even;
}

void SmPartition::resize(std::span<const SmPart> parts, int sms) {
  const int wanted =
      std::accumulate(parts.begin(), parts.end(), 0, [](int sum, const SmPart& part) { return sum + part.sms; });
  GPUSHARE_EXPECT(wanted <= sms, "parts are within the GPU");
  owners_.resize(static_cast<std::size_t>(sms));
  latest_.resize(owners_.size());
  for (auto& owner : owners_) {
    if (owner && std::ranges::find(parts, *owner, &SmPart::application) == parts.end()) owner.reset();
  }
  for (const SmPart& part : parts) {
    int surplus = sms_of(part.application) - part.sms;
    for (auto& owner : std::views::reverse(owners_)) {
      if (surplus <= 0) break;
      if (owner == part.application) owner.reset(), --surplus;
    }
  }
  for (const SmPart& part : parts) take(part, [&](std::size_t sm) { return latest_[sm] == part.application; });
  for (const SmPart& part : parts) take(part, [](std::size_t /*sm*/) { return true; });
}

template <typename Wanted>
void SmPartition::take(const SmPart& part, Wanted wanted) {
  int missing = part.sms - sms_of(part.application);
  for (std::size_t sm = 0; sm < owners_.size() && missing > 0; ++sm) {
    if (owners_[sm] || !wanted(sm)) continue;
    owners_[sm] = latest_[sm] = part.application;
    --missing;
  }
}

int SmPartition::sms_of(ApplicationId application) const {
  return static_cast<int>(std::ranges::count(owners_, std::optional(application)));
}

Quota SmPartition::quota(ApplicationId application, int residency) const {
  std::vector<int> blocks;
  for (const auto& owner : owners_) blocks.push_back(owner == application ? residency : 0);
  return Quota::per_sm(std::move(blocks));
}

}  // namespace gpushare
