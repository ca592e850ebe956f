// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "core/engine/event.hpp"

namespace gpushare {

/// Sorts the events from `first` on, which are in order up to `middle`; among equal times those before `middle` come
/// first. The rest is mostly in order itself: sorting all would take five times as long.
inline void merge_by_time(std::vector<Event>& events, std::size_t first, std::size_t middle) {
  const auto begin = events.begin() + static_cast<std::ptrdiff_t>(first);
  const auto rest = events.begin() + static_cast<std::ptrdiff_t>(middle);
  if (!std::ranges::is_sorted(rest, events.end(), {}, &Event::time)) {
    std::ranges::stable_sort(rest, events.end(), {}, &Event::time);
  }
  std::ranges::inplace_merge(begin, rest, events.end(), {}, &Event::time);
}

}  // namespace gpushare
