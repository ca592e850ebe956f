// SPDX-License-Identifier: Apache-2.0
// The re-ordering window of CuMAS (sections 3.2, 3.3): tasks queue up in order of arrival, and at most `size` of them
// at a time are put in order. The window moves on as soon as the last of its tasks has begun to copy to the device;
// then the next one is ordered, once it is full or the uplink is idle. For a task without copies to the device the
// engine that it begins with counts instead. A task that arrives in between is a latecomer.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "core/ordering/solvers/solver.hpp"

namespace gpushare {

struct ReadyTask {
  ApplicationId application{};
  Task task;
  int priority = 0;
  Time since{};            ///< when it became ready
  std::int64_t place = 0;  ///< in the order of all tasks, once it has been put in order
};

class ReorderWindow {
 public:
  struct Settings {
    std::size_t size = 8;  ///< the paper's: as many as the hardware of its time had queues
    Objective objective = Objective::Makespan;
    Bytes memory_limit = no_memory_limit;
    bool assumes_idle_engines = false;  ///< the order ignores what the previous window has left on the engines
    SearchLimits limits{};
    /// Starts a time limit of a search; the result tests whether it is over. Empty: no limit in time, as where time is
    /// simulated.
    std::function<std::function<bool()>()> stopwatch{};
  };

  ReorderWindow(std::unique_ptr<Solver> solver, Settings settings);

  /// A task is complete and could begin. Throws InvalidInput if it needs more memory than there is.
  void add(const ReadyTask& task);
  /// Like add(), for a task of unknown duration: it goes before the tasks in the window.
  void add_unknown(const ReadyTask& task);

  /// Does the application's task wait to be put in order?
  bool is_waiting(ApplicationId application) const;
  /// More has been issued that belongs to it. It keeps its place.
  void grow(ApplicationId application, const Task& task);

  /// Should order() be called? `engine_is_idle`: a task that waits could use its first engine. No search as long as
  /// tasks of the last order have not begun.
  bool is_due(bool engine_is_idle) const;
  void order(const EnginesState& engines, Time now = {});

  /// The tasks that have been put in order and have not begun; none if order() has to come first.
  const std::deque<ReadyTask>& ordered() const { return ordered_; }

  /// Tasks that have come since the last search, so that no order has weighed them against those under way.
  std::vector<const ReadyTask*> latecomers() const;
  /// The application's task begins now.
  void begin(ApplicationId application);
  /// Removes the application's task, if it is in the window.
  void drop(ApplicationId application);

  std::size_t waiting() const { return waiting_.size(); }
  const std::deque<ReadyTask>& queue() const { return waiting_; }
  /// The solver's last answer.
  const OrderedTasks& latest() const { return latest_; }

 private:
  void require_fits(const ReadyTask& task) const;

  std::unique_ptr<Solver> solver_;
  Settings settings_;
  std::deque<ReadyTask> waiting_;  // in order of arrival
  std::deque<ReadyTask> ordered_;  // the window, less those that have begun
  std::int64_t placed_ = 0;        // tasks, so far
  OrderedTasks latest_;
  Time searched_at_{};
};

}  // namespace gpushare
