// SPDX-License-Identifier: Apache-2.0
#include "core/session/several_devices.hpp"

#include <algorithm>
#include <iterator>

namespace gpushare {
namespace {

/// An application of one session.
struct Whose {
  std::size_t device = 0;
  std::size_t application = 0;  // in its session's workload
};

/// By device: the numbers that the things of its session have in all of them.
struct NumbersInAll {
  std::vector<ApplicationId> applications;
  std::vector<OperationId> operations;
};

std::vector<Whose> in_order_of_arrival(const std::vector<OfDevice<SessionRecord>>& records) {
  std::vector<Whose> all;
  for (std::size_t device = 0; device < records.size(); ++device) {
    for (std::size_t id = 0; id < records[device].part.workload.applications.size(); ++id) all.push_back({device, id});
  }
  std::ranges::stable_sort(all, {}, [&](const Whose& each) {
    return records[each.device].part.workload.applications[each.application].arrival + records[each.device].offset;
  });
  return all;
}

std::vector<NumbersInAll> numbers_of(const std::vector<OfDevice<SessionRecord>>& records,
                                     const std::vector<Whose>& order) {
  std::vector<NumbersInAll> numbers(records.size());
  for (std::size_t device = 0; device < records.size(); ++device) {
    numbers[device].applications.resize(records[device].part.workload.applications.size());
  }
  std::vector<std::vector<std::size_t>> first(records.size());
  for (std::size_t device = 0; device < records.size(); ++device) {
    first[device].resize(numbers[device].applications.size());
  }
  std::size_t operations = 0;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const auto [device, id] = order[place];
    numbers[device].applications[id] = static_cast<ApplicationId>(place);
    first[device][id] = operations;
    operations += records[device].part.workload.applications[id].operations.size();
  }
  for (std::size_t device = 0; device < records.size(); ++device) {
    const std::vector<Application>& applications = records[device].part.workload.applications;
    for (std::size_t id = 0; id < applications.size(); ++id) {
      for (std::size_t i = 0; i < applications[id].operations.size(); ++i) {
        numbers[device].operations.push_back(static_cast<OperationId>(first[device][id] + i));
      }
    }
  }
  return numbers;
}

bool is_of_application(EventKind kind) {
  return kind == EventKind::ApplicationArrived || kind == EventKind::ApplicationEnded ||
         kind == EventKind::PriorityChanged;
}

/// An event or plan of one session, as all of them have it.
class Translation {
 public:
  Translation(const NumbersInAll& numbers, Duration offset, int first_sm)
      : numbers_(numbers), offset_(offset), first_sm_(first_sm) {}

  Event operator()(Event event) const {
    event.time += offset_;
    if (event.kind == EventKind::BlockEnded || event.kind == EventKind::CopyEnded) event.started += offset_;
    event.sm = static_cast<SmId>(static_cast<int>(event.sm) + first_sm_);
    if (event.kind == EventKind::DeadlineReached) return event;
    event.application = numbers_.applications[index(event.application)];
    if (!is_of_application(event.kind)) event.operation = numbers_.operations[index(event.operation)];
    return event;
  }

  Plan operator()(Plan plan) const {
    for (Share& share : plan.shares) share.launch = numbers_.operations[index(share.launch)];
    if (plan.wake_at) *plan.wake_at += offset_;
    return plan;
  }

 private:
  const NumbersInAll& numbers_;
  Duration offset_;
  int first_sm_;
};

/// The next events of one session's trace.
struct Rest {
  const Trace* trace = nullptr;
  Translation translation;
  Duration offset{};
  std::size_t event = 0;
  std::size_t decision = 0;

  bool is_over() const { return event == trace->events.size(); }
  Time next() const { return trace->events[event].time + offset; }
};

void take_next(Rest& rest, Trace& all) {
  all.events.push_back(rest.translation(rest.trace->events[rest.event]));
  for (; rest.decision < rest.trace->decisions.size() && rest.trace->decisions[rest.decision].after_event == rest.event;
       ++rest.decision) {
    all.decisions.push_back({all.events.size() - 1, rest.translation(rest.trace->decisions[rest.decision].plan)});
  }
  ++rest.event;
}

Trace merged_trace(const std::vector<OfDevice<SessionRecord>>& records, const std::vector<NumbersInAll>& numbers,
                   const std::vector<int>& sms) {
  std::vector<Rest> rests;
  int first_sm = 0;
  for (std::size_t device = 0; device < records.size(); ++device) {
    const Duration offset = records[device].offset;
    rests.push_back({.trace = &records[device].part.trace,
                     .translation = Translation(numbers[device], offset, first_sm),
                     .offset = offset});
    first_sm += sms[device];
  }
  Trace all;
  while (true) {
    Rest* next = nullptr;
    for (Rest& each : rests) {
      if (!each.is_over() && (next == nullptr || each.next() < next->next())) next = &each;
    }
    if (next == nullptr) return all;
    take_next(*next, all);
  }
}

template <typename Part>
Time latest(const std::vector<OfDevice<Part>>& parts) {
  Time now{};
  for (const OfDevice<Part>& each : parts) now = std::max(now, each.part.now + each.offset);
  return now;
}

template <typename Entry>
void append(std::vector<Entry>& all, std::vector<Entry> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

SessionRecord merged(std::vector<OfDevice<SessionRecord>> records, const std::vector<int>& sms) {
  if (records.size() == 1) return std::move(records.front().part);
  const std::vector<Whose> order = in_order_of_arrival(records);
  const std::vector<NumbersInAll> numbers = numbers_of(records, order);
  SessionRecord all{.workload = {.name = "session"}, .turnarounds = {}, .trace = merged_trace(records, numbers, sms)};
  for (const auto& [device, id] : order) {
    SessionRecord& own = records[device].part;
    Application& application = own.workload.applications[id];
    application.arrival += records[device].offset;
    all.workload.applications.push_back(std::move(application));
    all.turnarounds.push_back(own.turnarounds[id]);
  }
  return all;
}

SessionStatus merged(std::vector<OfDevice<SessionStatus>> parts) {
  SessionStatus all{.now = latest(parts)};
  for (std::size_t device = 0; device < parts.size(); ++device) {
    for (ApplicationStatus& each : parts[device].part.applications) each.device = static_cast<DeviceId>(device);
    append(all.applications, std::move(parts[device].part.applications));
  }
  std::ranges::stable_sort(all.applications, std::greater<>{}, &ApplicationStatus::elapsed);
  return all;
}

SessionPast merged(std::vector<OfDevice<SessionPast>> parts) {
  SessionPast all{.now = latest(parts)};
  for (auto& [part, offset] : parts) {
    for (PastOperation& each : part.operations) {
      each.submitted += offset;
      if (each.began) *each.began += offset;
      each.end += offset;
    }
    for (PastQuota& each : part.quotas) {
      each.begin += offset;
      each.end += offset;
    }
    for (PastHold& each : part.holds) {
      each.time += offset;
      each.end += offset;
    }
    append(all.operations, std::move(part.operations));
    append(all.quotas, std::move(part.quotas));
    append(all.holds, std::move(part.holds));
  }
  std::ranges::stable_sort(all.operations, {},
                           [](const PastOperation& each) { return std::pair(each.is_under_way, each.end); });
  return all;
}

}  // namespace gpushare
