// SPDX-License-Identifier: Apache-2.0
#include "core/priorities/time_slices.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gpushare {

void TimeSlices::observe(const Event& event, const State& state) {
  requests_.observe(event, state);
  const auto& all = requests_.all();
  if (event.kind == EventKind::ApplicationArrived) {
    std::erase_if(slices_, [&](const auto& entry) { return !all.contains(entry.first); });
  }
  if (event.kind == EventKind::PriorityChanged) {
    for (const auto& [id, request] : all) slices_[id].ageing.begin_at(request.priority);
  }
  if (event.kind == EventKind::LaunchArrived) {
    for (const auto& [id, request] : all) {
      if (request.launches.size() == 1 && request.launches.front() == event.operation) arrive(id, event.time);
    }
  }
  if (!current_ || all.at(*current_).is_there()) return;
  ended_ = current_;
  current_.reset();
}

void TimeSlices::arrive(RequestId id, Time now) {
  if (std::ranges::find(swapped_, id) == swapped_.end()) undo_swap(now);
  const Request& request = requests_.all().at(id);
  const bool goes_on = request.arrival != now || request.ended == now;
  TimeSlice& slice = slices_[id];
  if (!goes_on) {
    slice = {.ageing = AgeingPriority(request.priority), .arrival = now};
    slice.ageing.wait_from(now);
  } else if (id == ended_) {
    if (current_) stop(TimeSlice::Queue::Active, now);
    current_ = id;
  }
  ended_.reset();
}

void TimeSlices::stop(TimeSlice::Queue queue, Time now) {
  TimeSlice& slice = slices_.at(*current_);
  current_.reset();
  slice.queue = slice.began == now ? TimeSlice::Queue::Active : queue;
  if (slice.queue == TimeSlice::Queue::Active) {
    slice.ageing.wait_from(now);
  } else {
    slice.ageing.reset();
  }
}

std::vector<RequestId> TimeSlices::waiting(Time now) const {
  using Place = std::tuple<bool, int, Time>;
  std::vector<std::pair<Place, RequestId>> found;
  for (const auto& [id, request] : requests_.all()) {
    if (id == current_ || !request.is_there()) continue;
    const TimeSlice& slice = slices_.at(id);
    found.emplace_back(Place(slice.queue == TimeSlice::Queue::Inactive, -slice.ageing.at(now), slice.arrival), id);
  }
  std::ranges::stable_sort(found, {}, &std::pair<Place, RequestId>::first);
  std::vector<RequestId> order;
  for (const auto& [place, id] : found) order.push_back(id);
  return order;
}

void TimeSlices::swap_queues(const std::vector<RequestId>& inactive, Time now) {
  for (const RequestId id : inactive) {
    slices_.at(id).queue = TimeSlice::Queue::Active;
    slices_.at(id).ageing.wait_from(now);
  }
  swapped_ = inactive;
  swapped_at_ = now;
}

/// Events of one instant come one by one: whether the active queue was empty then is known only after the last arrival.
void TimeSlices::undo_swap(Time now) {
  if (swapped_.empty() || swapped_at_ != now) return;
  for (const RequestId id : swapped_) {
    if (current_ == id) current_.reset();
    slices_.at(id).queue = TimeSlice::Queue::Inactive;
    slices_.at(id).ageing.reset();
  }
  swapped_.clear();
}

void TimeSlices::begin_next(Time now) {
  const std::vector<RequestId> order = waiting(now);
  if (order.empty()) return;
  if (slices_.at(order.front()).queue == TimeSlice::Queue::Inactive) {
    swap_queues(order, now);
  }
  current_ = order.front();
  TimeSlice& slice = slices_.at(*current_);
  slice.priority = slice.ageing.at(now);
  slice.began = now;
  slice.ageing.stop(now);
}

}  // namespace gpushare
