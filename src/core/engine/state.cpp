// SPDX-License-Identifier: Apache-2.0
#include "core/engine/state.hpp"

#include <algorithm>

#include "core/model/errors.hpp"
#include "core/model/residency.hpp"

namespace gpushare {

State::State(const Device& device, const Workload& workload) : device_(&device) {
  for (const Application& application : workload.applications) {
    add(std::shared_ptr<const Application>(std::shared_ptr<void>(), &application));  // the caller's
    for (const Operation& operation : application.operations) add(operation);
  }
}

ApplicationId State::add(std::shared_ptr<const Application> application) {
  const auto id = static_cast<ApplicationId>(next_application_++);
  const int priority = application->priority;
  applications_.emplace(id, ApplicationState{.application = std::move(application), .priority = priority});
  return id;
}

OperationId State::add(const Operation& operation) {
  operations_.push_back(&operation);
  position_.push_back(-1);
  return static_cast<OperationId>(operations_.size() - 1);
}

State State::before_all_events() const {
  State before = *this;
  for (auto& [id, known] : before.applications_) {
    known.priority = known.application->priority;
    known.has_arrived = false;
  }
  std::ranges::fill(before.position_, -1);
  before.running_.clear();
  before.now_ = {};
  return before;
}

const RunningLaunch* State::find(OperationId launch) const {
  const int position = position_.at(index(launch));
  return position < 0 ? nullptr : &running_[static_cast<std::size_t>(position)];
}

std::vector<const Launch*> State::first_launches_arriving_within(Duration window) const {
  std::vector<const Launch*> launches;
  for (const auto& [id, known] : applications_) {
    const Application& upcoming = *known.application;
    const Time arrival(upcoming.arrival);  // one in the past was on another device
    if (known.has_arrived || upcoming.operations.empty() || arrival < now_ || arrival > now_ + window) continue;
    if (const auto* launch = std::get_if<Launch>(&upcoming.operations.front())) launches.push_back(launch);
  }
  return launches;
}

RunningLaunch& State::at(OperationId launch) {
  const int position = position_[index(launch)];
  GPUSHARE_EXPECT(position >= 0, "events of a launch come between its arrival and its end");
  return running_[static_cast<std::size_t>(position)];
}

void State::update(const Event& event) {
  now_ = event.time;
  switch (event.kind) {
    case EventKind::ApplicationArrived:
      applications_.at(event.application).has_arrived = true;
      return;
    case EventKind::LaunchArrived:
      return arrive(event);
    case EventKind::BlockStarted: {
      RunningLaunch& launch = at(event.operation);
      SmProgress& progress = launch.per_sm[index(event.sm)];
      if (progress.resident == 0) progress.active_since = event.time;
      progress.resident += event.blocks;
      launch.started += event.blocks;
      return;
    }
    case EventKind::BlockEnded: {
      RunningLaunch& launch = at(event.operation);
      SmProgress& progress = launch.per_sm[index(event.sm)];
      progress.resident -= event.blocks;
      if (progress.resident == 0) progress.active_before += event.time - progress.active_since;
      progress.done += event.blocks;
      launch.done += event.blocks;
      return;
    }
    case EventKind::BlocksExpected: {
      RunningLaunch& launch = at(event.operation);
      launch.elsewhere = launch.blocks() - event.block;
      return;
    }
    case EventKind::LaunchEnded:
      return end(event.operation);
    case EventKind::PriorityChanged:
      return change_priority(event.application, static_cast<int>(event.block));
    default:
      return;
  }
}

void State::arrive(const Event& event) {
  const auto* launch = std::get_if<Launch>(operations_.at(index(event.operation)));
  GPUSHARE_EXPECT(launch != nullptr && find(event.operation) == nullptr, "a launch arrives once");
  const Application& owner = application(event.application);
  position_[index(event.operation)] = static_cast<int>(running_.size());
  running_.push_back({.id = event.operation,
                      .application = event.application,
                      .launch = launch,
                      .arrival = event.time,
                      .priority = priority(event.application),
                      .weight = owner.weight,
                      .max_residency = max_residency(*device_, launch->kernel.needs),
                      .per_sm = std::vector<SmProgress>(static_cast<std::size_t>(device_->sms))});
}

void State::change_priority(ApplicationId application, int priority) {
  applications_.at(application).priority = priority;
  for (RunningLaunch& launch : running_) {
    if (launch.application == application) launch.priority = priority;
  }
}

void State::end(OperationId launch) {
  const auto position = static_cast<std::size_t>(&at(launch) - running_.data());
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(position));
  position_[index(launch)] = -1;
  for (std::size_t later = position; later < running_.size(); ++later) {
    position_[index(running_[later].id)] = static_cast<int>(later);
  }
}

}  // namespace gpushare
