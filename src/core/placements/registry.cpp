// SPDX-License-Identifier: Apache-2.0
// Every placement, one line each: the name users type, what it does, and the function that makes it.
#include "core/placements/registry.hpp"

#include <algorithm>
#include <array>

#include "core/model/errors.hpp"
#include "core/model/quoted_list.hpp"

// clang-format off
#define GPUSHARE_PLACEMENTS(entry)                                                                                      \
  entry("predicted", "the devices on which the contention model predicts the highest STP", make_predicted)              \
  entry("least-loaded", "the device with the least work", make_least_loaded)                                            \
  entry("first-fit", "the first device with enough free memory", make_first_fit)
// clang-format on

namespace gpushare {

#define GPUSHARE_DECLARE_PLACEMENT(name, summary, make) std::unique_ptr<Placement> make(const PolicyOptions&);
GPUSHARE_PLACEMENTS(GPUSHARE_DECLARE_PLACEMENT)

namespace {

#define GPUSHARE_PLACEMENT_ROW(name, summary, make) PlacementEntry{name, summary, make},
constexpr std::array placement_table{GPUSHARE_PLACEMENTS(GPUSHARE_PLACEMENT_ROW)};

std::unique_ptr<Placement> made(const PolicyOptions& options) {
  const auto entry = std::ranges::find(placement_table, options.policy(), &PlacementEntry::name);
  require(entry != placement_table.end(),
          "no placement '" + options.policy() +
              "'; known: " + quoted_list(placement_table, [](const PlacementEntry& each) { return each.name; }));
  std::unique_ptr<Placement> placement = entry->make(options);
  options.require_all_known();
  return placement;
}

}  // namespace

std::span<const PlacementEntry> placements() { return placement_table; }

std::unique_ptr<Placement> make_placement(std::string_view text) { return made(PolicyOptions(text, "placement")); }

std::vector<OptionEntry> placement_options(std::string_view name) {
  const PolicyOptions options(name, "placement");
  made(options);
  return options.described();
}

}  // namespace gpushare
