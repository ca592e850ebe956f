// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/bypass_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpushare {

void BypassQueue::admit(OperationId launch, bool on_reserved_sms, Time now) {
  admitted_[launch] = {.is_on_reserved_sms = on_reserved_sms, .since = now};
}

void BypassQueue::fill_places(Launches& launches, Time now) {
  if (waiting_.empty()) return;
  auto running = std::ranges::count_if(launches, [this](const auto& launch) { return has_admitted(launch->id()); });
  for (; !waiting_.empty() && running < admitted_at_once; ++running) {
    admitted_[waiting_.front()->id()].since = now;
    launches.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void BypassQueue::take_out(OperationId launch, Launches& launches) {
  if (waiting_.empty() || !has_admitted(launch)) return;
  const auto found = std::ranges::find(waiting_, launch, [](const auto& each) { return each->id(); });
  if (found == waiting_.end()) return;
  launches.push_back(std::move(*found));
  waiting_.erase(found);
}

void BypassQueue::take_out_all(Launches& launches) {
  std::ranges::move(std::exchange(waiting_, {}), std::back_inserter(launches));
  admitted_.clear();
}

bool BypassQueue::is_on_reserved_sms(OperationId launch) const {
  const auto found = admitted_.find(launch);
  return found != admitted_.end() && found->second.is_on_reserved_sms;
}

bool BypassQueue::is_passing(const GpuLaunch& launch, Time now) const {
  const auto found = admitted_.find(launch.id());
  if (found == admitted_.end() || !found->second.is_on_reserved_sms) return false;
  return !launch.has_begun() || now - found->second.since < longest_passing_;
}

bool BypassQueue::forget(OperationId launch) {
  const auto found = admitted_.extract(launch);
  return found && found.mapped().is_on_reserved_sms;
}

}  // namespace gpushare
