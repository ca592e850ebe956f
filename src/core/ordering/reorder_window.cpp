// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/reorder_window.hpp"

#include <algorithm>
#include <string>

#include "core/model/errors.hpp"

namespace gpushare {

ReorderWindow::ReorderWindow(std::unique_ptr<Solver> solver, Settings settings)
    : solver_(std::move(solver)), settings_(std::move(settings)) {
  require(settings_.size >= 1 && settings_.size <= most_tasks_in_window,
          "a window must have 1.." + std::to_string(most_tasks_in_window) + " tasks, got " +
              std::to_string(settings_.size));
}

void ReorderWindow::require_fits(const ReadyTask& task) const {
  require(task.task.memory <= settings_.memory_limit,
          "a task of application " + std::to_string(index(task.application)) + " copies " +
              std::to_string(task.task.memory.count) + " bytes, more than the device's memory of " +
              std::to_string(settings_.memory_limit.count) + ": copy less at a time");
}

void ReorderWindow::add(const ReadyTask& task) {
  require_fits(task);
  waiting_.push_back(task);
}

void ReorderWindow::add_unknown(const ReadyTask& task) {
  require_fits(task);
  ordered_.push_front(task);
  ordered_.front().place = ordered_.size() > 1 ? ordered_[1].place : placed_++;
}

bool ReorderWindow::is_waiting(ApplicationId application) const {
  return std::ranges::find(waiting_, application, &ReadyTask::application) != waiting_.end();
}

void ReorderWindow::grow(ApplicationId application, const Task& task) {
  const auto waiting = std::ranges::find(waiting_, application, &ReadyTask::application);
  GPUSHARE_EXPECT(waiting != waiting_.end(), "no task of the application waits");
  waiting->task = task;
  require_fits(*waiting);
}

bool ReorderWindow::is_due(bool engine_is_idle) const {
  if (!ordered_.empty() || waiting_.empty()) return false;
  return engine_is_idle || waiting_.size() >= settings_.size;
}

std::vector<const ReadyTask*> ReorderWindow::latecomers() const {
  std::vector<const ReadyTask*> tasks;
  for (const ReadyTask& task : waiting_) {
    if (task.since > searched_at_) tasks.push_back(&task);
  }
  return tasks;
}

void ReorderWindow::begin(ApplicationId application) {
  const std::size_t before = waiting_.size() + ordered_.size();
  drop(application);
  GPUSHARE_EXPECT(waiting_.size() + ordered_.size() + 1 == before, "an application has one task that waits");
}

void ReorderWindow::drop(ApplicationId application) {
  const auto is_its = [application](const ReadyTask& task) { return task.application == application; };
  std::erase_if(waiting_, is_its);
  std::erase_if(ordered_, is_its);
}

void ReorderWindow::order(const EnginesState& engines, Time now) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(settings_.size, waiting_.size()));
  std::vector<Task> tasks;
  for (auto task = waiting_.begin(); task != waiting_.begin() + count; ++task) tasks.push_back(task->task);
  SearchLimits limits = settings_.limits;
  if (settings_.stopwatch) limits.stop = settings_.stopwatch();
  searched_at_ = now;
  latest_ = solver_->order({.tasks = tasks,
                            .engines = settings_.assumes_idle_engines ? EnginesState{} : engines,
                            .memory_limit = settings_.memory_limit,
                            .objective = settings_.objective},
                           limits);
  for (const int number : latest_.order) {
    ordered_.push_back(waiting_[static_cast<std::size_t>(number)]);
    ordered_.back().place = placed_++;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + count);
}

}  // namespace gpushare
