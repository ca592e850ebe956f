// SPDX-License-Identifier: Apache-2.0
#include "core/priorities/turns.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gpushare {

void Turns::observe(const Event& event, const State& state) {
  requests_.observe(event, state);
  const auto& all = requests_.all();
  if (event.kind == EventKind::ApplicationArrived) {
    std::erase_if(turns_, [&](const auto& entry) { return !all.contains(entry.first); });
  }
  if (event.kind == EventKind::PriorityChanged) {
    for (const auto& [id, request] : all) turns_[id].ageing.begin_at(request.priority);
  }
  if (event.kind == EventKind::LaunchArrived) {
    for (const auto& [id, request] : all) {
      if (request.launches.size() == 1 && request.launches.front() == event.operation) welcome(id, event.time);
    }
  }
  if (!current_ || all.at(*current_).is_there()) return;
  ended_ = current_;
  current_.reset();
}

void Turns::welcome(RequestId id, Time now) {
  if (std::ranges::find(exchanged_, id) == exchanged_.end()) take_back_exchange(now);
  const Request& request = requests_.all().at(id);
  const bool goes_on = request.arrival != now || request.ended == now;
  Turn& turn = turns_[id];
  if (!goes_on) {
    turn = {.ageing = AgeingPriority(request.priority), .arrival = now};
    turn.ageing.wait_from(now);
  } else if (id == ended_) {
    if (current_) stop(Turn::Queue::Active, now);
    current_ = id;
  }
  ended_.reset();
}

void Turns::stop(Turn::Queue queue, Time now) {
  Turn& turn = turns_.at(*current_);
  current_.reset();
  turn.queue = turn.began == now ? Turn::Queue::Active : queue;
  if (turn.queue == Turn::Queue::Active) {
    turn.ageing.wait_from(now);
  } else {
    turn.ageing.reset();
  }
}

std::vector<RequestId> Turns::waiting(Time now) const {
  using Place = std::tuple<bool, int, Time>;
  std::vector<std::pair<Place, RequestId>> found;
  for (const auto& [id, request] : requests_.all()) {
    if (id == current_ || !request.is_there()) continue;
    const Turn& turn = turns_.at(id);
    found.emplace_back(Place(turn.queue == Turn::Queue::Inactive, -turn.ageing.at(now), turn.arrival), id);
  }
  std::ranges::stable_sort(found, {}, &std::pair<Place, RequestId>::first);
  std::vector<RequestId> order;
  for (const auto& [place, id] : found) order.push_back(id);
  return order;
}

void Turns::exchange_queues(const std::vector<RequestId>& inactive, Time now) {
  for (const RequestId id : inactive) {
    turns_.at(id).queue = Turn::Queue::Active;
    turns_.at(id).ageing.wait_from(now);
  }
  exchanged_ = inactive;
  exchanged_at_ = now;
}

/// Events of one instant come one by one: whether the active queue was empty then is known only after the last arrival.
void Turns::take_back_exchange(Time now) {
  if (exchanged_.empty() || exchanged_at_ != now) return;
  for (const RequestId id : exchanged_) {
    if (current_ == id) current_.reset();
    turns_.at(id).queue = Turn::Queue::Inactive;
    turns_.at(id).ageing.reset();
  }
  exchanged_.clear();
}

void Turns::begin_next(Time now) {
  const std::vector<RequestId> order = waiting(now);
  if (order.empty()) return;
  if (turns_.at(order.front()).queue == Turn::Queue::Inactive) {
    exchange_queues(order, now);
  }
  current_ = order.front();
  Turn& turn = turns_.at(*current_);
  turn.priority = turn.ageing.at(now);
  turn.began = now;
  turn.ageing.stop(now);
}

}  // namespace gpushare
