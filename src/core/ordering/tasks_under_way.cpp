// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/tasks_under_way.hpp"

#include <algorithm>

#include "core/model/errors.hpp"

namespace gpushare {
Duration time_on(const Task& task, Engine engine) {
  return engine == uplink ? task.uplink : engine == compute ? task.compute : task.downlink;
}

void TasksUnderWay::begin(const ReadyTask& task) {
  const auto behind =
      std::ranges::find_if(tasks_, [&](const TaskOnEngine& other) { return other.ready.place > task.place; });
  tasks_.insert(behind, {.ready = task});
}

const TasksUnderWay::TaskOnEngine* TasksUnderWay::find(ApplicationId application) const {
  const auto found =
      std::ranges::find(tasks_, application, [](const TaskOnEngine& task) { return task.ready.application; });
  return found == tasks_.end() ? nullptr : &*found;
}

TasksUnderWay::TaskOnEngine& TasksUnderWay::at(ApplicationId application) {
  const TaskOnEngine* found = find(application);
  GPUSHARE_EXPECT(found != nullptr, "the application has no task under way");
  return tasks_[static_cast<std::size_t>(found - tasks_.data())];
}

std::vector<ApplicationId> TasksUnderWay::applications() const {
  std::vector<ApplicationId> applications;
  for (const TaskOnEngine& task : tasks_) applications.push_back(task.ready.application);
  return applications;
}

/// Tasks use the uplink from when they begin, the other engines from their first operation there on.
bool TasksUnderWay::is_at(const TaskOnEngine& task, Engine engine) {
  return task.engine == engine && (task.uses || engine == uplink);
}

Duration TasksUnderWay::left_of(const TaskOnEngine& task, Time now) {
  if (!task.uses) return time_on(task.ready.task, task.engine);
  return std::max(task.left - std::max(now - task.since, Duration::zero()), Duration::zero());
}

bool TasksUnderWay::goes_before_those_at(Engine engine, const ReadyTask& task, Time now) const {
  const CopyClaim claim{.priority = task.priority, .left = time_on(task.task, engine)};
  return std::ranges::all_of(tasks_, [&](const TaskOnEngine& other) {
    if (other.ready.application == task.application || !is_at(other, engine)) return true;
    return goes_before(cut_in_, claim, {.priority = other.ready.priority, .left = left_of(other, now)});
  });
}

bool TasksUnderWay::may_cut_in(const ReadyTask& task, Time now) const {
  return cut_in_ != CutIn::None && goes_before_those_at(uplink, task, now);
}

void TasksUnderWay::cut_in(const ReadyTask& task) {
  const auto first = std::ranges::find(tasks_, uplink, &TaskOnEngine::engine);
  const std::int64_t place = first == tasks_.end() ? task.place : first->ready.place;
  const auto cutting_in = tasks_.insert(first, {.ready = task});
  cutting_in->ready.place = place;
}

void TasksUnderWay::end(ApplicationId application, Time now) {
  const TaskOnEngine* task = find(application);
  if (task == nullptr) return;
  leave(*task, now);
  std::erase_if(tasks_, [&](const TaskOnEngine& each) { return each.ready.application == application; });
}

void TasksUnderWay::cut_short(ApplicationId application) {
  const TaskOnEngine* found = find(application);
  if (found == nullptr) return;
  Task& task = at(application).ready.task;
  if (found->engine < compute) task.compute = Duration::zero();
  if (found->engine < downlink) task.downlink = Duration::zero();
}

bool TasksUnderWay::is_using(ApplicationId application, Engine engine) const {
  const TaskOnEngine* task = find(application);
  return task != nullptr && task->engine == engine && task->uses;
}

void TasksUnderWay::reach(ApplicationId application, Engine engine, Time now) {
  TaskOnEngine& task = at(application);
  if (task.engine == engine) return;
  leave(task, now);
  task.engine = engine;
  task.uses = false;
}

/// A task that was interrupted between its pieces continues.
void TasksUnderWay::leave(const TaskOnEngine& task, Time now) {
  if (!task.uses || task.engine == compute) return;
  TaskOnEngine* next = nullptr;
  for (TaskOnEngine& other : tasks_) {
    const bool waits = &other != &task && other.engine == task.engine && other.uses;
    if (waits && (next == nullptr || other.rank < next->rank)) next = &other;
  }
  if (next != nullptr) next->since = std::min(next->since, now);
}

bool TasksUnderWay::may_use(ApplicationId application, Engine engine, Time now) const {
  const TaskOnEngine* task = find(application);
  GPUSHARE_EXPECT(task != nullptr, "the application has no task under way");
  if (task->uses) return true;
  if (engine == compute) return may_compute(*task);
  return (engine == uplink || may_send_results(*task, now)) && goes_before_those_at(engine, task->ready, now);
}

bool TasksUnderWay::may_compute(const TaskOnEngine& task) const {
  int before = 0;  // tasks in the way
  for (const TaskOnEngine& other : tasks_) {
    if (&other == &task) break;
    before += is_for_kernels(other) ? 1 : 0;
  }
  return before < most_computing_;
}

/// It computes, or will.
bool TasksUnderWay::is_for_kernels(const TaskOnEngine& task) {
  return task.engine == compute || (task.engine == uplink && task.ready.task.compute > Duration::zero());
}

/// Tasks with kernels that run at the same time may end them in another order.
bool TasksUnderWay::may_send_results(const TaskOnEngine& task, Time now) const {
  const CopyClaim claim{.priority = task.ready.priority, .left = left_of(task, now)};
  int before = 0;
  for (const TaskOnEngine& other : tasks_) {
    if (&other == &task) break;
    const Duration left = other.ready.task.downlink;
    const bool will_send = left > Duration::zero() && !is_at(other, downlink);
    before += will_send && !goes_before(cut_in_, claim, {.priority = other.ready.priority, .left = left}) ? 1 : 0;
  }
  return before < most_computing_;
}

bool TasksUnderWay::has_room_at(Engine engine) const {
  if (engine == compute) return std::ranges::count_if(tasks_, is_for_kernels) < most_computing_;
  return is_idle(engine);
}

void TasksUnderWay::use(ApplicationId application, Engine engine, Time now) {
  TaskOnEngine& task = at(application);
  GPUSHARE_EXPECT(task.engine == engine, "the task is not there");
  if (task.uses) return;
  task.left = left_of(task, now);
  task.since = now;
  task.rank = 0;
  for (TaskOnEngine& other : tasks_) {
    if (engine == compute || &other == &task || other.engine != engine || !other.uses) continue;
    task.rank = std::min(task.rank, other.rank - 1);
    other.left = left_of(other, now);
    other.since = now + task.left;
  }
  task.uses = true;
}

bool TasksUnderWay::is_idle(Engine engine) const {
  return std::ranges::none_of(tasks_, [&](const TaskOnEngine& task) { return task.engine == engine; });
}

Bytes TasksUnderWay::held() const {
  Bytes sum;
  for (const TaskOnEngine& task : tasks_) sum.count += task.ready.task.memory.count;
  return sum;
}

EnginesState TasksUnderWay::engines(Time now) const {
  std::array<Duration, engine_count> free{};
  EnginesState state;
  for (const TaskOnEngine& task : tasks_) {
    Duration ready{};
    for (const Engine engine : {uplink, compute, downlink}) {
      if (engine < task.engine) continue;
      const Duration time = engine == task.engine ? left_of(task, now) : time_on(task.ready.task, engine);
      if (time > Duration::zero()) free[engine] = std::max(free[engine], ready) + time;
      if (time > Duration::zero()) ready = free[engine];
    }
    if (task.ready.task.memory.count > 0) state.held.push_back({.until = ready, .size = task.ready.task.memory});
  }
  state.uplink = free[uplink];
  state.compute = free[compute];
  state.downlink = free[downlink];
  return state;
}

}  // namespace gpushare
