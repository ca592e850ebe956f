// SPDX-License-Identifier: Apache-2.0
#include "core/priorities/turns.hpp"

#include <algorithm>
#include <tuple>

namespace gpushare {

void Turns::observe(const Event& event, const State& state) {
  requests_.observe(event, state);
  const std::vector<Request>& all = requests_.all();
  turns_.resize(all.size());
  if (event.kind == EventKind::PriorityChanged) {
    for (std::size_t id = 0; id < all.size(); ++id) turns_[id].ageing.begin_at(all[id].priority);
  }
  if (event.kind == EventKind::LaunchArrived) {
    for (std::size_t id = 0; id < all.size(); ++id) {
      if (all[id].launches.size() == 1 && all[id].launches.front() == event.operation) welcome(id, event.time);
    }
  }
  if (!current_ || requests_.all()[*current_].is_there()) return;
  ended_ = current_;
  current_.reset();
}

void Turns::welcome(std::size_t id, Time now) {
  const Request& request = requests_.all()[id];
  const bool goes_on = request.arrival != now || request.ended == now;
  if (!goes_on) {
    turns_[id] = {.ageing = AgeingPriority(request.priority), .arrival = now};
    turns_[id].ageing.wait_from(now);
  } else if (id == ended_) {
    if (current_) stop(Turn::Queue::Active, now);
    current_ = id;
  }
  ended_.reset();
}

void Turns::stop(Turn::Queue queue, Time now) {
  Turn& turn = turns_[*current_];
  current_.reset();
  turn.queue = turn.began == now ? Turn::Queue::Active : queue;
  if (turn.queue == Turn::Queue::Active) {
    turn.ageing.wait_from(now);
  } else {
    turn.ageing.reset();
  }
}

std::vector<std::size_t> Turns::waiting(Time now) const {
  std::vector<std::size_t> order;
  for (std::size_t id = 0; id < turns_.size(); ++id) {
    if (is_waiting(id)) order.push_back(id);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t id) {
    const Turn& turn = turns_[id];
    return std::tuple(turn.queue == Turn::Queue::Inactive, -turn.ageing.at(now), turn.arrival);
  });
  return order;
}

void Turns::begin_next(Time now) {
  std::vector<std::size_t> order = waiting(now);
  if (order.empty()) return;
  if (turns_[order.front()].queue == Turn::Queue::Inactive) {
    for (const std::size_t id : order) {
      turns_[id].queue = Turn::Queue::Active;
      turns_[id].ageing.wait_from(now);
    }
  }
  current_ = order.front();
  Turn& turn = turns_[*current_];
  turn.priority = turn.ageing.at(now);
  turn.began = now;
  turn.ageing.stop(now);
}

}  // namespace gpushare
