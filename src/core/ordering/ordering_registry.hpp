// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ordering/configured_ordering.hpp"
#include "core/ordering/solvers/solver.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {

/// An ordering as users see it, before the + of a policy's name: "cumas:window=8+srtf".
struct OrderingEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view source;                           ///< paper and section
  std::unique_ptr<Solver> (*make_solver)();          ///< what puts its windows in order; nullptr where it has none
  ConfiguredOrdering (*read)(const PolicyOptions&);  ///< reads the options of one without windows; else nullptr

  bool has_windows() const { return make_solver != nullptr; }
};

std::span<const OrderingEntry> orderings();

/// The solver of the ordering of this name. Throws InvalidInput unless it has windows, listing those that have.
std::unique_ptr<Solver> make_solver(std::string_view name);

/// A policy's name in its two parts. Without a +, the ordering is "arrival".
struct OrderedPolicy {
  std::string ordering = "arrival";
  std::string policy;
};
OrderedPolicy ordered_policy(std::string_view text);

/// The options of this ordering.
std::vector<OptionEntry> ordering_options(std::string_view name);

/// Throws InvalidInput, as make_ordering() would.
void require_ordering(std::string_view text);
/// The same for work that is submitted during the run. Its memory is not limited: it has been allocated before.
void require_open_ordering(std::string_view text);

/// The pieces in which it has large copies go on this device; CutIn::None: whole.
CopyPieces ordering_pieces(std::string_view text, const Device& device);

/// The ordering of this name, with options behind it if it has any; nullptr for "arrival". Throws InvalidInput for an
/// unknown name, listing the known ones, and for an option that it has not. The device must outlive it.
std::unique_ptr<Ordering> make_ordering(std::string_view text, const Device& device,
                                        const OrderingSurroundings& surroundings = {});
/// The same with all that the workload's applications will issue. The workload must outlive it too.
std::unique_ptr<Ordering> make_ordering(std::string_view text, const Device& device, const Workload& workload,
                                        const OrderingSurroundings& surroundings = {});

}  // namespace gpushare
