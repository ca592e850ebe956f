// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpushare {

/// The names of these, as messages list them: 'one', 'two'.
template <class Range, class NameOf>
std::string quoted_list(const Range& items, const NameOf& name_of) {
  std::string list;
  for (const auto& item : items) {
    list += list.empty() ? "'" : ", '";
    list += name_of(item);
    list += "'";
  }
  return list;
}

}  // namespace gpushare
