// SPDX-License-Identifier: Apache-2.0
// Every ordering, one line each: the name before the + of a policy's, what it does, where it is from, and the solver
// that puts its windows in order.
#include "core/ordering/ordering_registry.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/model/errors.hpp"
#include "core/model/quoted_list.hpp"
#include "core/ordering/solvers/solver_registry.hpp"
#include "core/ordering/window_ordering.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {
namespace {

constexpr std::array ordering_table{
    OrderingEntry{"arrival", "each operation as soon as it is ready: what streams do", "CuMAS 2", ""},
    OrderingEntry{"strings", "whole tasks in order of arrival, phases overlapped", "CuMAS 1, 6.1", "arrival"},
    OrderingEntry{"cumas", "tasks of a window in the best order, proven", "CuMAS 3, 4", "exact"},
    OrderingEntry{"cumas-dp", "tasks of a window ordered by dynamic programming", "CuMAS 4.4, corrected", "dp"},
    OrderingEntry{"cumas-dp-as-printed", "cumas-dp with the paper's equations as printed", "CuMAS 4.3",
                  "dp-as-printed"},
    OrderingEntry{"cumas-bf", "tasks of a window in the best of all orders, tried one by one", "CuMAS 4.3",
                  "brute-force"},
};

ReorderWindow::Settings window_settings(const PolicyOptions& options) {
  ReorderWindow::Settings window;
  window.size =
      static_cast<std::size_t>(options.whole("window", "tasks that are ordered at a time", 8, 1, most_tasks_in_window));
  const std::string objective = options.word(
      "objective", "what the order minimises: the time until all end, the mean turnaround, or that by weights",
      {"makespan", "turnaround", "weighted"});
  window.objective = objective == "makespan"     ? Objective::Makespan
                     : objective == "turnaround" ? Objective::MeanTurnaround
                                                 : Objective::WeightedTurnaround;
  const double memory_gb =
      options.number("memory_gb", "device memory in 10^9 bytes for what tasks copy; 0: no limit", 0, 0, 1e6);
  if (memory_gb > 0) window.memory_limit = Bytes{std::llrint(memory_gb * 1e9)};
  window.assumes_idle_engines =
      options.word("assume_idle_engines",
                   "is the order found as if the previous window had left no work on the engines",
                   {"no", "yes"}) == "yes";
  window.limits.nodes = options.whole("search_steps", "steps of a search, after which the best order so far is taken",
                                      1'000'000, 1, 1'000'000'000'000);
  return window;
}

WindowOrdering::Settings settings_of(const PolicyOptions& options) {
  const std::string rule = options.word(
      "to_host", "does every copy to the host end a task, or do consecutive ones stay together", {"each", "together"});
  const std::string estimates = options.word(
      "estimates", "are the times of kernels known from profiles, or only after they have run", {"profile", "learnt"});
  return {.window = window_settings(options),
          .computing = static_cast<int>(
              options.whole("kernels", "tasks that may be in their kernels at a time", 1, 1, most_tasks_in_window)),
          .rule = rule == "each" ? ToHostRule::EachEndsTask : ToHostRule::ConsecutiveStayTogether,
          .first_estimate = estimates == "profile" ? FirstEstimate::Profile : FirstEstimate::Nowhere};
}

/// Sizes of pieces depend on the device, which is not part of the name.
struct PieceOptions {
  CutIn cut_in = CutIn::None;
  double bandwidth_loss = 0;
  Bytes size{};  // 0: by the loss of bandwidth
  int at_a_time = 1;

  CopyPieces on(const Device& device) const {
    if (size.count > 0) return {.cut_in = cut_in, .to_device = size, .to_host = size, .at_a_time = at_a_time};
    return {.cut_in = cut_in,
            .to_device = TransferTime(device.to_device).piece_losing(bandwidth_loss),
            .to_host = TransferTime(device.to_host).piece_losing(bandwidth_loss),
            .at_a_time = at_a_time};
  }
};

/// Copies in pieces are the default for turnaround orderings only: they delay the end of the last task.
PieceOptions piece_options(const PolicyOptions& options, bool is_for_turnaround) {
  constexpr std::string_view meaning =
      "which copies may go between the pieces of a large one: shorter ones, those of a higher priority, or none";
  const std::string cut_in = is_for_turnaround ? options.word("pieces", meaning, {"short", "no", "urgent"})
                                               : options.word("pieces", meaning, {"no", "short", "urgent"});
  const double megabytes =
      options.number("piece_mb", "size of a piece in 10^6 bytes; left out: by bandwidth_loss_share", 0, 1e-6, 1e6);
  return {.cut_in = cut_in == "no"      ? CutIn::None
                    : cut_in == "short" ? CutIn::Shorter
                                        : CutIn::Urgent,
          .bandwidth_loss =
              options.number("bandwidth_loss_share", "share of the bandwidth that pieces may cost", 0.02, 0.001, 0.9),
          .size = Bytes{std::llrint(megabytes * 1e6)},
          .at_a_time =
              static_cast<int>(options.whole("pieces_at_a_time", "pieces that an engine has at a time", 1, 1, 16))};
}

struct Read {
  const OrderingEntry* entry = nullptr;
  WindowOrdering::Settings settings{};
  PieceOptions pieces{};
  Duration search_time{};
  std::vector<OptionEntry> options;
};

Read read(std::string_view text) {
  const PolicyOptions options(text);
  const auto entry = std::ranges::find(ordering_table, options.policy(), &OrderingEntry::name);
  require(entry != ordering_table.end(),
          "no ordering '" + options.policy() +
              "'; known: " + quoted_list(ordering_table, [](const OrderingEntry& each) { return each.name; }));
  Read ordering{.entry = &*entry};
  if (!entry->solver.empty()) {
    ordering.settings = settings_of(options);
    const bool is_for_turnaround =
        entry->solver != "arrival" && ordering.settings.window.objective != Objective::Makespan;
    ordering.pieces = piece_options(options, is_for_turnaround);
    ordering.search_time = options.duration("search_ns", "time of a search on a GPU", Duration(500'000), Duration(1000),
                                            Duration(1'000'000'000'000));
  }
  options.require_all_known();
  ordering.options = options.described();
  return ordering;
}

}  // namespace

std::span<const OrderingEntry> orderings() { return ordering_table; }

OrderedPolicy ordered_policy(std::string_view text) {
  const std::size_t plus = text.find('+');
  if (plus == std::string_view::npos) return {.policy = std::string(text)};
  return {.ordering = std::string(text.substr(0, plus)), .policy = std::string(text.substr(plus + 1))};
}

std::vector<OptionEntry> ordering_options(std::string_view name) { return read(name).options; }

void require_ordering(std::string_view text) { read(text); }

void require_open_ordering(std::string_view text) {
  require(read(text).settings.window.memory_limit == no_memory_limit,
          "'" + std::string(text) +
              "': memory_gb is for workloads known beforehand; what a session's tasks copy lies in arrays that are "
              "there already, so leave it out");
}

CopyPieces ordering_pieces(std::string_view text, const Device& device) { return read(text).pieces.on(device); }

std::unique_ptr<Ordering> make_ordering(std::string_view text, const Device& device,
                                        const OrderingSurroundings& surroundings) {
  const Read ordering = read(text);
  if (ordering.entry->solver.empty()) return nullptr;
  WindowOrdering::Settings settings = ordering.settings;
  settings.pieces = ordering.pieces.on(device);
  settings.learnt = surroundings.learnt;
  if (surroundings.stopwatch) {
    settings.window.stopwatch = [begin = surroundings.stopwatch, time = ordering.search_time] { return begin(time); };
  }
  return std::make_unique<WindowOrdering>(device, make_solver(ordering.entry->solver), settings);
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
