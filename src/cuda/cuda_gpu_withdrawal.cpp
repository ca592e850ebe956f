// SPDX-License-Identifier: Apache-2.0
// The part of CudaGpu that takes launches off the GPU before they are done: one launch, or all.
#include <algorithm>

#include "cuda/cuda_gpu.hpp"

namespace gpushare::cuda {

// A launch that has begun leaves as if evicted; the poll after that shows its progress.
void CudaGpu::withdraw(OperationId operation) {
  let_in(operation);
  const auto launch = std::ranges::find(launches_, operation, [](const auto& each) { return each->submission().id; });
  const Time time = elapsed();
  if (launch == launches_.end()) {
    followers_.send_away_behind(operation, time);
    return hold_end_of(operation);
  }
  followers_.take_announced((*launch)->submission().application);
  followers_.send_away((*launch)->take_follower(), operation, time);
  (*launch)->withdraw(time);
  make_room(time);
  report_ends(time);
  look_soon();
}

/// Its end was seen, and is not reported before its successor has left.
void CudaGpu::hold_end_of(OperationId operation) {
  if (!followers_.is_leaving_behind(operation)) return;
  const auto pending = events_.begin() + static_cast<std::ptrdiff_t>(next_event_);
  const auto end = std::find_if(pending, events_.end(), [operation](const gpushare::Event& event) {
    return event.kind == EventKind::LaunchEnded && event.operation == operation;
  });
  if (end == events_.end()) return;
  held_ends_.push_back(*end);
  events_.erase(end);
  if (next_event_ != events_.size()) return;
  events_.clear();
  next_event_ = 0;
}

void CudaGpu::tell_held_ends(Time time) {
  std::erase_if(held_ends_, [&](const gpushare::Event& end) {
    if (followers_.is_leaving_behind(end.operation)) return false;
    events_.push_back(end);
    events_.back().time = std::max(end.time, time);
    return true;
  });
}

// After a fault the driver refuses every call; after other failures calls may succeed.
bool CudaGpu::stop(Duration patience) {
  try {
    resources_.completions.require_healthy();
    if (becomes_empty_within(patience)) return true;
  } catch (const std::exception&) {  // the context cannot be used any more
  }
  resources_.context->abandon();
  return false;
}

bool CudaGpu::becomes_empty_within(Duration patience) {
  std::ranges::move(outside_, std::back_inserter(launches_));
  outside_.clear();
  std::vector<Followers::Started> followers = followers_.take_all();
  for (const auto& launch : launches_) {
    if (auto follower = launch->take_follower()) followers.push_back({std::move(follower), launch->submission().id});
  }
  for (Followers::Started& each : followers) {
    stopped_behind_[each.launch->submission().id] = each.leader;
    launches_.push_back(std::move(each.launch));
  }
  plan_.clear();
  admitted_.clear();
  put_into_effect();
  const Time end = elapsed() + patience;
  while (is_busy() && elapsed() < end) {
    collect(elapsed());
    if (resources_.tables.look_has_ended()) {
      resources_.tables.end_look();
    } else {
      resources_.tables.hurry_look();
    }
  }
  return !is_busy();
}

bool CudaGpu::is_busy() const {
  return !to_device_.empty() || !to_host_.empty() || resources_.tables.is_looking() || followers_.any_leaving() ||
         std::ranges::any_of(launches_, [](const auto& launch) { return !launch->hardware().empty(); });
}

}  // namespace gpushare::cuda
