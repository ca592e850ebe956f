// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/window_options.hpp"

#include <cmath>

#include "core/ordering/window_ordering.hpp"

namespace gpushare {
namespace {

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

}  // namespace

ConfiguredOrdering read_window_ordering(const PolicyOptions& options, std::unique_ptr<Solver> (*make_solver)()) {
  const WindowOrdering::Settings read = settings_of(options);
  const bool is_for_turnaround = read.window.objective != Objective::Makespan && make_solver()->heeds_objective();
  const PieceOptions pieces = piece_options(options, is_for_turnaround);
  const Duration search_time = options.duration("search_ns", "time of a search on a GPU", Duration(500'000),
                                                Duration(1000), Duration(1'000'000'000'000));
  const auto make = [=](const Device& device, const OrderingSurroundings& surroundings) -> std::unique_ptr<Ordering> {
    WindowOrdering::Settings settings = read;
    settings.pieces = pieces.on(device);
    settings.learnt = surroundings.learnt;
    if (surroundings.stopwatch) {
      settings.window.stopwatch = [begin = surroundings.stopwatch, search_time] { return begin(search_time); };
    }
    return std::make_unique<WindowOrdering>(device, make_solver(), settings);
  };
  return {.make = make,
          .pieces = [pieces](const Device& device) { return pieces.on(device); },
          .limits_memory = read.window.memory_limit != no_memory_limit};
}

}  // namespace gpushare
