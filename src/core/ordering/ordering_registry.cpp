// SPDX-License-Identifier: Apache-2.0
// Every ordering, one line each: the name before the + of a policy's, what it does, where it is from, and its function.
// One that puts windows of tasks in order is `window` and names the function that makes its solver; any other is
// `other` and names the function that reads its options.
#include "core/ordering/ordering_registry.hpp"

#include <algorithm>
#include <array>

#include "core/model/errors.hpp"
#include "core/model/quoted_list.hpp"
#include "core/ordering/window_options.hpp"

// clang-format off
#define GPUSHARE_ORDERINGS(window, other)                                                                              \
  other("arrival", "each operation as soon as it is ready: what streams do", "CuMAS 2", read_arrival_ordering)         \
  window("strings", "whole tasks in order of arrival, phases overlapped", "CuMAS 1, 6.1", make_arrival_solver)         \
  window("cumas", "tasks of a window in the best order, proven", "CuMAS 3, 4", make_exact_solver)                      \
  window("cumas-dp", "tasks of a window ordered by dynamic programming", "CuMAS 4.4, corrected", make_dp_solver)       \
  window("cumas-dp-as-printed", "cumas-dp with the paper's equations as printed", "CuMAS 4.3", make_printed_dp_solver) \
  window("cumas-bf", "tasks of a window in the best of all orders, tried one by one", "CuMAS 4.3", make_brute_force_solver)
// clang-format on

namespace gpushare {

#define GPUSHARE_DECLARE_SOLVER(name, summary, source, make) std::unique_ptr<Solver> make();
#define GPUSHARE_DECLARE_READ(name, summary, source, read) ConfiguredOrdering read(const PolicyOptions&);
GPUSHARE_ORDERINGS(GPUSHARE_DECLARE_SOLVER, GPUSHARE_DECLARE_READ)

namespace {

#define GPUSHARE_WINDOW_ROW(name, summary, source, make) OrderingEntry{name, summary, source, make, nullptr},
#define GPUSHARE_OTHER_ROW(name, summary, source, read) OrderingEntry{name, summary, source, nullptr, read},
constexpr std::array ordering_table{GPUSHARE_ORDERINGS(GPUSHARE_WINDOW_ROW, GPUSHARE_OTHER_ROW)};

struct Read {
  ConfiguredOrdering ordering;
  std::vector<OptionEntry> options;
};

Read read(std::string_view text) {
  const PolicyOptions options(text, "ordering");
  const auto entry = std::ranges::find(ordering_table, options.policy(), &OrderingEntry::name);
  require(entry != ordering_table.end(),
          "no ordering '" + options.policy() +
              "'; known: " + quoted_list(ordering_table, [](const OrderingEntry& each) { return each.name; }));
  Read found{
      .ordering = entry->has_windows() ? read_window_ordering(options, entry->make_solver) : entry->read(options),
      .options = options.described()};
  options.require_all_known();
  return found;
}

}  // namespace

std::span<const OrderingEntry> orderings() { return ordering_table; }

std::unique_ptr<Solver> make_solver(std::string_view name) {
  const auto entry = std::ranges::find(ordering_table, name, &OrderingEntry::name);
  if (entry != ordering_table.end() && entry->has_windows()) return entry->make_solver();
  std::vector<std::string_view> known;
  for (const OrderingEntry& each : ordering_table) {
    if (each.has_windows()) known.push_back(each.name);
  }
  throw InvalidInput("no ordering of windows '" + std::string(name) +
                     "'; known: " + quoted_list(known, [](std::string_view each) { return each; }));
}

OrderedPolicy ordered_policy(std::string_view text) {
  const std::size_t plus = text.find('+');
  if (plus == std::string_view::npos) return {.policy = std::string(text)};
  return {.ordering = std::string(text.substr(0, plus)), .policy = std::string(text.substr(plus + 1))};
}

std::vector<OptionEntry> ordering_options(std::string_view name) { return read(name).options; }

void require_ordering(std::string_view text) { read(text); }

void require_open_ordering(std::string_view text) {
  require(!read(text).ordering.limits_memory,
          "'" + std::string(text) +
              "': memory_gb is for workloads known beforehand; what a session's tasks copy lies in arrays that are "
              "there already, so leave it out");
}

CopyPieces ordering_pieces(std::string_view text, const Device& device) { return read(text).ordering.pieces(device); }

std::unique_ptr<Ordering> make_ordering(std::string_view text, const Device& device,
                                        const OrderingSurroundings& surroundings) {
  return read(text).ordering.make(device, surroundings);
}

std::unique_ptr<Ordering> make_ordering(std::string_view text, const Device& device, const Workload& workload,
                                        const OrderingSurroundings& surroundings) {
  std::unique_ptr<Ordering> ordering = make_ordering(text, device, surroundings);
  if (ordering == nullptr) return nullptr;
  for (const Application& application : workload.applications) {
    const ApplicationId id = ordering->add(application);
    for (const Operation& operation : application.operations) ordering->issue(id, operation);
  }
  return ordering;
}

}  // namespace gpushare
