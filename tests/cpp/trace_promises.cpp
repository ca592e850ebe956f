// SPDX-License-Identifier: Apache-2.0
#include "trace_promises.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/model/residency.hpp"
#include "sample_workloads.hpp"

namespace gpushare::test {
namespace {

/// What is resident on every SM at one point of a trace.
class Occupancy {
 public:
  Occupancy(const Device& device, const Workload& workload)
      : device_(device), operations_(operations_of(workload)), used_(static_cast<std::size_t>(device.sms)) {
    for (const Operation& operation : operations_) {
      const auto* launch = std::get_if<Launch>(&operation);
      blocks_.push_back(launch ? footprint(device, launch->kernel.needs) : BlockFootprint{});
      most_.push_back(launch ? max_residency(device, launch->kernel.needs) : 0);
      resident_.emplace_back(static_cast<std::size_t>(device.sms), 0);
    }
  }

  void see(const Event& event) {
    if (event.kind == EventKind::BlockStarted) add(event, event.blocks);
    if (event.kind == EventKind::BlockEnded) add(event, -event.blocks);
  }

  int resident(OperationId launch, SmId sm) const { return resident_[index(launch)][index(sm)]; }
  int max_residency_of(OperationId launch) const { return most_[index(launch)]; }

  bool within_capacity(SmId sm) const { return fits(used_[index(sm)]); }
  bool has_room(OperationId launch, SmId sm) const {
    Used more = used_[index(sm)];
    add(more, blocks_[index(launch)], 1);
    return fits(more) && resident(launch, sm) < max_residency_of(launch);
  }

 private:
  struct Used {
    BlockFootprint sum;
    int blocks = 0;
  };

  static void add(Used& used, const BlockFootprint& block, int count) {
    used.blocks += count;
    used.sum.threads += count * block.threads;
    used.sum.warps += count * block.warps;
    used.sum.registers += count * block.registers;
    used.sum.shared_memory_bytes += count * block.shared_memory_bytes;
  }
  void add(const Event& event, int count) {
    add(used_.at(index(event.sm)), blocks_.at(index(event.operation)), count);
    resident_[index(event.operation)][index(event.sm)] += count;
  }
  bool fits(const Used& used) const {
    const SmCapacity& sm = device_.per_sm;
    return used.blocks <= sm.blocks && used.sum.threads <= sm.threads && used.sum.warps <= sm.warps &&
           used.sum.registers <= sm.registers && used.sum.shared_memory_bytes <= sm.shared_memory.count;
  }

  const Device& device_;
  std::vector<Operation> operations_;
  std::vector<BlockFootprint> blocks_;      // by OperationId
  std::vector<int> most_;                   // by OperationId
  std::vector<std::vector<int>> resident_;  // by OperationId, then by SM
  std::vector<Used> used_;                  // by SM
};

/// A quota that holds from a point in time on; the plan needs `signal` to reach the device.
struct InForce {
  Time from;
  const Plan* plan;
};

int quota_of(const Plan& plan, OperationId launch, SmId sm) {
  for (const Share& share : plan.shares) {
    if (share.launch == launch) return share.quota.at(sm);
  }
  return 0;
}

/// The largest quota that may be in force: times are rounded, so two plans may hold at the same nanosecond, and one
/// that was decided half a nanosecond after a whole one may seem to come too late by one.
int allowed(const std::vector<InForce>& plans, const Event& start) {
  int most = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const bool begun = plans[i].from <= start.time + Duration(1);
    const bool over = i + 1 < plans.size() && plans[i + 1].from < start.time;
    if (begun && !over) most = std::max(most, quota_of(*plans[i].plan, start.operation, start.sm));
  }
  return most;
}

}  // namespace

void expect_time_moves_forward(const Trace& trace) {
  Time last{};
  for (const Event& event : trace.events) {
    ASSERT_GE(event.time, last);
    last = event.time;
  }
}

void expect_every_block_once(const Trace& trace, const Workload& workload) {
  const std::vector<Operation> operations = operations_of(workload);
  std::map<std::pair<OperationId, std::int64_t>, Event> started;
  std::map<std::pair<OperationId, std::int64_t>, Event> ended;
  for (const Event& event : trace.events) {
    const std::pair block{event.operation, event.block};
    if (event.kind == EventKind::BlockStarted) {
      ASSERT_TRUE(started.emplace(block, event).second);
    }
    if (event.kind != EventKind::BlockEnded) continue;
    ASSERT_TRUE(ended.emplace(block, event).second);
    ASSERT_TRUE(started.contains(block));
    ASSERT_EQ(started[block].sm, event.sm);
    ASSERT_EQ(started[block].time, event.started);
  }
  std::size_t blocks = 0;
  for (std::size_t id = 0; id < operations.size(); ++id) {
    const auto* launch = std::get_if<Launch>(&operations[id]);
    for (std::int64_t block = 0; launch && block < launch->blocks; ++block, ++blocks) {
      ASSERT_TRUE(ended.contains({static_cast<OperationId>(id), block})) << "launch " << id << ", block " << block;
    }
  }
  EXPECT_EQ(started.size(), blocks);
  EXPECT_EQ(ended.size(), blocks);
}

void expect_streams_in_order(const Trace& trace, const Workload& workload) {
  std::vector<int> next(workload.applications.size(), -1);  // operations ended; -1 before the arrival
  std::vector<std::size_t> first;
  std::size_t operations = 0;
  for (const Application& application : workload.applications) {
    first.push_back(operations);
    operations += application.operations.size();
  }
  std::size_t finished = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::DeadlineReached) continue;
    int& done = next.at(index(event.application));
    if (event.kind == EventKind::ApplicationArrived) {
      ASSERT_EQ(done, -1);
      EXPECT_EQ(event.time, Time(workload.applications[index(event.application)].arrival));
      done = 0;
    } else if (event.kind == EventKind::ApplicationEnded) {
      ASSERT_EQ(static_cast<std::size_t>(done), workload.applications[index(event.application)].operations.size());
      ++finished;
    } else {
      ASSERT_EQ(index(event.operation), first[index(event.application)] + static_cast<std::size_t>(done));
      if (event.kind == EventKind::LaunchEnded || event.kind == EventKind::CopyEnded) ++done;
    }
  }
  EXPECT_EQ(finished, workload.applications.size());
}

void expect_no_overcommitment(const Trace& trace, const Device& device, const Workload& workload) {
  Occupancy occupancy(device, workload);
  for (const Event& event : trace.events) {
    occupancy.see(event);
    if (event.kind != EventKind::BlockStarted) continue;
    ASSERT_TRUE(occupancy.within_capacity(event.sm)) << "SM " << index(event.sm) << " at " << nanoseconds(event.time);
    ASSERT_LE(occupancy.resident(event.operation, event.sm), occupancy.max_residency_of(event.operation));
  }
}

void expect_quotas_kept(const Trace& trace, const Device& device, const Workload& workload) {
  Occupancy occupancy(device, workload);
  std::vector<InForce> plans;
  auto decision = trace.decisions.begin();
  for (std::size_t position = 0; position < trace.events.size(); ++position) {
    const Event& event = trace.events[position];
    occupancy.see(event);
    if (event.kind == EventKind::BlockStarted) {
      ASSERT_LE(occupancy.resident(event.operation, event.sm), allowed(plans, event));
    }
    for (; decision != trace.decisions.end() && decision->after_event == position; ++decision) {
      plans.push_back({event.time + device.delays.signal, &decision->plan});
      for (const Share& share : decision->plan.shares) {
        ASSERT_GE(share.quota.smallest(), 0);
        ASSERT_LE(share.quota.largest(), occupancy.max_residency_of(share.launch));
      }
    }
    while (plans.size() > 2 && plans[1].from < event.time) plans.erase(plans.begin());
  }
}

void expect_work_conserved_in_order_of_arrival(const Trace& trace, const Device& device, const Workload& workload) {
  const std::vector<Operation> operations = operations_of(workload);
  Occupancy occupancy(device, workload);
  std::vector<std::pair<OperationId, std::int64_t>> unstarted;
  for (std::size_t position = 0; position < trace.events.size(); ++position) {
    const Event& event = trace.events[position];
    occupancy.see(event);
    if (event.kind == EventKind::LaunchArrived) {
      unstarted.emplace_back(event.operation, std::get<Launch>(operations[index(event.operation)]).blocks);
    }
    if (event.kind == EventKind::BlockStarted) {
      ASSERT_EQ(event.operation, unstarted.front().first) << "a later launch overtakes";
      unstarted.front().second -= event.blocks;
      if (unstarted.front().second == 0) unstarted.erase(unstarted.begin());
    }
    const bool time_goes_on = position + 1 < trace.events.size() && trace.events[position + 1].time > event.time;
    for (int sm = 0; time_goes_on && !unstarted.empty() && sm < device.sms; ++sm) {
      ASSERT_FALSE(occupancy.has_room(unstarted.front().first, static_cast<SmId>(sm)))
          << "SM " << sm << " idles at " << nanoseconds(event.time);
    }
  }
}

}  // namespace gpushare::test
