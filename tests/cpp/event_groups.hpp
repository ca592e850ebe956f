// SPDX-License-Identifier: Apache-2.0
// A simulated trace as a real GPU would have told it: what started or ended together on one SM is one event.
#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine/trace.hpp"

namespace gpushare::test {

/// Block events of one point in time with nothing else between them, and the same in groups; or any one other event.
struct Moment {
  std::vector<Event> single;
  std::vector<Event> grouped;
};

/// Puts block events together by launch and SM. The starts of a moment come before its ends.
class Grouping {
 public:
  std::vector<Event> group(const std::vector<Event>& events) {
    std::map<std::tuple<EventKind, OperationId, SmId>, std::vector<Event>> together;
    for (const Event& event : events) together[{event.kind, event.operation, event.sm}].push_back(event);
    std::vector<Event> groups;
    for (const auto& [key, members] : together) groups.push_back(one_event(members));
    return groups;
  }

 private:
  Event one_event(const std::vector<Event>& members) {
    Event group = members.front();
    group.blocks = static_cast<std::int32_t>(members.size());
    Duration total{};
    for (const Event& member : members) total += member.time - member.started;
    group.started = group.time - total / group.blocks;
    std::int64_t& before = seen_[{group.kind, group.operation}];
    group.block = before;
    before += group.blocks;
    return group;
  }

  std::map<std::pair<EventKind, OperationId>, std::int64_t> seen_;
};

inline bool is_of_a_block(const Event& event) {
  return event.kind == EventKind::BlockStarted || event.kind == EventKind::BlockEnded;
}

inline std::vector<Moment> in_moments(const Trace& trace) {
  std::vector<Moment> moments;
  for (const Event& event : trace.events) {
    const bool joins = !moments.empty() && is_of_a_block(event) && is_of_a_block(moments.back().single.back()) &&
                       moments.back().single.back().time == event.time;
    if (!joins) moments.emplace_back();
    moments.back().single.push_back(event);
  }
  Grouping grouping;
  for (Moment& moment : moments) {
    moment.grouped = is_of_a_block(moment.single.front()) ? grouping.group(moment.single) : moment.single;
  }
  return moments;
}

/// The events of a trace in groups. Decisions are left out, because they name events by position.
inline Trace in_groups(const Trace& trace) {
  Trace grouped;
  for (const Moment& moment : in_moments(trace)) {
    grouped.events.insert(grouped.events.end(), moment.grouped.begin(), moment.grouped.end());
  }
  return grouped;
}

}  // namespace gpushare::test
