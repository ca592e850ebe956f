// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/ordering.hpp"
#include "core/ordering/kernel_time.hpp"
#include "core/ordering/solvers/copy_pieces.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {

/// An ordering as users see it, before the + of a policy's name: "cumas:window=8+srtf".
struct OrderingEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  ///< paper and section
  std::string_view solver;  ///< what puts a window's tasks in order; empty: every operation goes when it is ready
};

std::span<const OrderingEntry> orderings();

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

/// What a run on a real GPU has in addition to a simulated one.
struct OrderingSurroundings {
  /// Starts a time limit; the result tests whether it is over. Limits every search, as the GPU waits meanwhile.
  std::function<std::function<bool()>(Duration)> stopwatch{};
  std::shared_ptr<KernelTimes> learnt{};  ///< from earlier runs
};

/// The ordering of this name, with options behind it if it has any; nullptr for "arrival". Throws InvalidInput for an
/// unknown name, listing the known ones, and for an option that it has not. The device must outlive it.
std::unique_ptr<Ordering> make_ordering(std::string_view text, const Device& device,
                                        const OrderingSurroundings& surroundings = {});
/// The same with all that the workload's applications will issue. The workload must outlive it too.
std::unique_ptr<Ordering> make_ordering(std::string_view text, const Device& device, const Workload& workload,
                                        const OrderingSurroundings& surroundings = {});

}  // namespace gpushare
