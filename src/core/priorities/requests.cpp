// SPDX-License-Identifier: Apache-2.0
#include "core/priorities/requests.hpp"

#include <algorithm>

namespace gpushare {
namespace {

// Whatever a client calls its applications, of the name that the server makes of it the last '@' and the client's
// number behind it stay: no two clients have an owner in common.
std::string owner_of(ApplicationId application, const State& state) {
  const std::string& name = state.application(application).name;
  const std::size_t stream = name.find('/');
  if (stream == std::string::npos) return name;
  const std::size_t client = name.rfind('@');
  const bool names_client = client != std::string::npos && client > stream;
  return name.substr(0, stream) + (names_client ? name.substr(client) : "");
}

}  // namespace

void Requests::observe(const Event& event, const State& state) {
  if (event.kind == EventKind::ApplicationArrived) {
    begin_stream(event.application, state);
  } else if (event.kind == EventKind::ApplicationEnded) {
    end_stream(event.application, state);
  } else if (event.kind == EventKind::LaunchArrived) {
    arrive(*state.find(event.operation), state);
  } else if (event.kind == EventKind::LaunchEnded) {
    Request& request = all_.at(request_of_[index(event.operation)]);
    std::erase(request.launches, event.operation);
    request.ended = event.time;
  } else if (event.kind == EventKind::PriorityChanged) {
    Request* request = find(owner_of(event.application, state));
    if (request != nullptr) request->priority = static_cast<int>(event.block);
  }
}

Request* Requests::find(const std::string& owner) {
  const auto found = by_owner_.find(owner);
  return found != by_owner_.end() ? &all_.at(found->second) : nullptr;
}

Request& Requests::of(const std::string& owner) {
  if (Request* known = find(owner)) return *known;
  by_owner_.emplace(owner, next_);
  return all_.emplace(next_++, Request{.owner = owner}).first->second;
}

void Requests::begin_stream(ApplicationId application, const State& state) {
  const auto has_gone = [&](const auto& entry) {
    const Request& request = entry.second;
    return request.streams == 0 && !request.is_there() && request.ended.value_or(Time{}) < state.now();
  };
  std::erase_if(all_, has_gone);
  std::erase_if(by_owner_, [&](const auto& entry) { return !all_.contains(entry.second); });
  ++of(owner_of(application, state)).streams;
}

void Requests::end_stream(ApplicationId application, const State& state) {
  Request* request = find(owner_of(application, state));
  if (request != nullptr && request->streams > 0) --request->streams;
}

void Requests::arrive(const RunningLaunch& launch, const State& state) {
  const std::string owner = owner_of(launch.application, state);
  Request& request = of(owner);
  const bool is_new = !request.is_there() && request.ended != launch.arrival;
  if (is_new) {
    request.arrival = launch.arrival;
    request.priority = launch.priority;
  }
  request.launches.push_back(launch.id);
  if (request_of_.size() <= index(launch.id)) request_of_.resize(index(launch.id) + 1);
  request_of_[index(launch.id)] = by_owner_.at(owner);
}

void add_shares(Plan& plan, const Request& request, const State& state) {
  for (const OperationId launch : request.launches) plan.shares.push_back(full_share(*state.find(launch)));
}

}  // namespace gpushare
