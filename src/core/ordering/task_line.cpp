// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/task_line.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace gpushare {
namespace {

Duration time_on(const Task& task, Engine engine) {
  return engine == uplink ? task.uplink : engine == compute ? task.compute : task.downlink;
}

}  // namespace

const TaskLine::UnderWay* TaskLine::find(ApplicationId application) const {
  const auto found =
      std::ranges::find(tasks_, application, [](const UnderWay& task) { return task.ready.application; });
  return found == tasks_.end() ? nullptr : &*found;
}

TaskLine::UnderWay& TaskLine::at(ApplicationId application) {
  const UnderWay* found = find(application);
  GPUSHARE_EXPECT(found != nullptr, "the application has no task under way");
  return tasks_[static_cast<std::size_t>(found - tasks_.data())];
}

std::vector<ApplicationId> TaskLine::applications() const {
  std::vector<ApplicationId> applications;
  for (const UnderWay& task : tasks_) applications.push_back(task.ready.application);
  return applications;
}

void TaskLine::end(ApplicationId application) {
  std::erase_if(tasks_, [&](const UnderWay& task) { return task.ready.application == application; });
}

void TaskLine::reach(ApplicationId application, Engine engine) {
  UnderWay& task = at(application);
  if (task.engine == engine) return;
  task.engine = engine;
  task.uses = false;
}

bool TaskLine::may_use(ApplicationId application, Engine engine) const {
  int before = 0;  // tasks in the way
  for (const UnderWay& task : tasks_) {
    const bool is_asking = task.ready.application == application;
    if (is_asking && (task.uses || engine == compute)) return task.uses || before < most_computing_;
    if (is_asking) continue;
    if (engine != compute) {
      before += task.engine == engine && task.uses ? 1 : 0;
    } else {
      before += task.engine == compute || (task.engine == uplink && task.ready.task.compute > Duration::zero()) ? 1 : 0;
    }
  }
  return before == 0;
}

void TaskLine::use(ApplicationId application, Engine engine, Time now) {
  UnderWay& task = at(application);
  GPUSHARE_EXPECT(task.engine == engine, "the task is not there");
  if (task.uses) return;
  task.uses = true;
  task.since = now;
}

bool TaskLine::is_idle(Engine engine) const {
  return std::ranges::none_of(tasks_, [&](const UnderWay& task) { return task.engine == engine; });
}

Bytes TaskLine::held() const {
  Bytes sum;
  for (const UnderWay& task : tasks_) sum.count += task.ready.task.memory.count;
  return sum;
}

EnginesState TaskLine::engines(Time now) const {
  std::array<Duration, engine_count> free{};
  EnginesState state;
  for (const UnderWay& task : tasks_) {
    Duration ready{};
    for (const Engine engine : {uplink, compute, downlink}) {
      if (engine < task.engine) continue;
      Duration time = time_on(task.ready.task, engine);
      if (engine == task.engine && task.uses) time = std::max(time - (now - task.since), Duration::zero());
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
