// SPDX-License-Identifier: Apache-2.0
#include "bindings/runs/session_ordering.hpp"

#include "bindings/stopwatch.hpp"
#include "core/ordering/ordering_registry.hpp"

namespace gpushare::bindings {
namespace {

struct OwnedOrdering {
  Device estimates;
  std::unique_ptr<Ordering> ordering{};
};

}  // namespace

std::shared_ptr<Ordering> session_ordering(const std::string& name, const Device& estimates) {
  require_open_ordering(name);
  const auto owned = std::make_shared<OwnedOrdering>(OwnedOrdering{.estimates = estimates});
  owned->ordering = make_ordering(name, owned->estimates, {.stopwatch = over_after});
  if (owned->ordering == nullptr) return nullptr;
  return {owned, owned->ordering.get()};
}

}  // namespace gpushare::bindings
