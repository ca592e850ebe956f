// SPDX-License-Identifier: Apache-2.0
// How tests of all orderings name them.
#pragma once

#include <ostream>

#include "core/ordering/ordering_registry.hpp"

namespace gpushare {

inline void PrintTo(const OrderingEntry& ordering, std::ostream* out) { *out << ordering.name; }

}  // namespace gpushare
