// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/engine/devices/placement.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {

/// A placement as users see it.
struct PlacementEntry {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Placement> (*make)(const PolicyOptions&);
};

std::span<const PlacementEntry> placements();

/// The placement of this name, with options behind it as policies have them ("predicted:gain=0.1"). Throws InvalidInput
/// for an unknown name, listing the known ones, and for an option that the placement does not have.
std::unique_ptr<Placement> make_placement(std::string_view text);

std::vector<OptionEntry> placement_options(std::string_view name);

}  // namespace gpushare
