// SPDX-License-Identifier: Apache-2.0
#include "core/priorities/requests.hpp"

#include <algorithm>

namespace gpushare {
namespace {

std::string owner_of(ApplicationId application, const State& state) {
  const std::string& name = state.application(application).name;
  return name.substr(0, name.find('/'));
}

}  // namespace

void Requests::observe(const Event& event, const State& state) {
  if (event.kind == EventKind::LaunchArrived) {
    arrive(*state.find(event.operation), state);
  } else if (event.kind == EventKind::LaunchEnded) {
    Request& request = all_[request_of_[index(event.operation)]];
    std::erase(request.launches, event.operation);
    request.ended = event.time;
  } else if (event.kind == EventKind::PriorityChanged) {
    const auto request = std::ranges::find(all_, owner_of(event.application, state), &Request::owner);
    if (request != all_.end()) request->priority = static_cast<int>(event.block);
  }
}

void Requests::arrive(const RunningLaunch& launch, const State& state) {
  const std::string owner = owner_of(launch.application, state);
  auto request = std::ranges::find(all_, owner, &Request::owner);
  if (request == all_.end()) request = all_.insert(request, Request{.owner = owner});
  const bool is_new = !request->is_there() && request->ended != launch.arrival;
  if (is_new) {
    request->arrival = launch.arrival;
    request->priority = launch.priority;
  }
  request->launches.push_back(launch.id);
  if (request_of_.size() <= index(launch.id)) request_of_.resize(index(launch.id) + 1);
  request_of_[index(launch.id)] = static_cast<std::size_t>(request - all_.begin());
}

void add_shares(Plan& plan, const Request& request, const State& state) {
  for (const OperationId launch : request.launches) plan.shares.push_back(full_share(*state.find(launch)));
}

}  // namespace gpushare
