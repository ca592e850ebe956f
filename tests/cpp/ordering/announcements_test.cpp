// SPDX-License-Identifier: Apache-2.0
// Under an ordering what is sure to go next is announced to the device, nothing else is, and no order changes by it.
#include <gtest/gtest.h>

#include <algorithm>

#include "attentive_gpu.hpp"
#include "core/ordering/task_splitter.hpp"
#include "core/trace/trace_recorder.hpp"
#include "ordered_run.hpp"
#include "random_tasks.hpp"
#include "sample_workloads.hpp"
#include "trace_promises.hpp"

namespace gpushare {
namespace {

using namespace test;

Device device_with_followers() {
  Device device = small_device(2);
  device.delays = {.launch = Duration(300), .signal = Duration(50), .completion = Duration(80), .follow = Duration(90)};
  return device;
}

struct Watched {
  Trace trace;
  std::set<OperationId> announced;
};

enum class Announcements { AreHeard, AreIgnored };

Watched watched_run(const Device& device, const Workload& workload, const std::string& ordering,
                    const std::string& policy = "fifo", Announcements announcements = Announcements::AreHeard) {
  AttentiveGpu gpu(device, 1);
  if (announcements == Announcements::AreIgnored) gpu.ignore_announcements();
  TraceRecorder recorder;
  std::vector<RunObserver*> observers{&recorder};
  run(gpu, *make_policy(policy), workload, observers, make_ordering(ordering, device, workload).get());
  return {.trace = recorder.take(), .announced = gpu.announced()};
}

/// Operations that are behind one of the same kind and of the same task.
std::set<OperationId> inner_operations(const Workload& workload) {
  std::set<OperationId> inner;
  int first = 0;
  for (const Application& application : workload.applications) {
    std::vector<Call> calls;
    for (const Operation& operation : application.operations) {
      const auto* copy = std::get_if<Copy>(&operation);
      calls.push_back(copy == nullptr                                ? Call::Launch
                      : copy->direction == Copy::Direction::ToDevice ? Call::ToDevice
                                                                     : Call::ToHost);
    }
    for (const TaskCalls& task : tasks_of(calls)) {
      for (std::size_t each = task.first + 1; each < task.first + task.count; ++each) {
        if (calls[each] == calls[each - 1]) inner.insert(operation(first + static_cast<int>(each)));
      }
    }
    first += static_cast<int>(application.operations.size());
  }
  return inner;
}

/// Who began on each engine, in order of time.
std::vector<std::vector<int>> order_of(const Trace& trace, const Workload& workload) {
  const std::vector<Operation> operations = operations_of(workload);
  std::vector<std::vector<int>> order(3);
  for (const Event& event : trace.events) {
    if (event.kind != EventKind::LaunchArrived && event.kind != EventKind::CopyStarted) continue;
    const auto* copy = std::get_if<Copy>(&operations[index(event.operation)]);
    const int engine = copy == nullptr ? 1 : copy->direction == Copy::Direction::ToDevice ? 0 : 2;
    order[static_cast<std::size_t>(engine)].push_back(static_cast<int>(event.operation));
  }
  return order;
}

class AnnouncementsUnder : public testing::TestWithParam<std::string_view> {};

TEST_P(AnnouncementsUnder, AreOfWhatFollowsInATaskAndOfNothingElse) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = device_with_followers();
    const Workload workload = workload_of_tasks(dice, dice.between(1, 6), 3);
    const std::string options =
        ":window=" + std::to_string(dice.between(1, 6)) + ":kernels=" + std::to_string(dice.between(1, 3));
    const Watched run = watched_run(device, workload, std::string(GetParam()) + options, seed % 2 ? "srtf" : "fifo");
    EXPECT_EQ(run.announced, inner_operations(workload));
    expect_time_moves_forward(run.trace);
    expect_streams_in_order(run.trace, workload);
  }
}

TEST_P(AnnouncementsUnder, AreKeptWithPiecesAndLaterArrivals) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = device_with_followers();
    Workload workload = workload_of_tasks(dice, 5, 3);
    for (Application& application : workload.applications) application.arrival = Duration(dice.between(0, 20'000));
    const Watched run = watched_run(device, workload, std::string(GetParam()) + ":pieces=short:piece_mb=0.001");
    EXPECT_EQ(run.announced, inner_operations(workload));
  }
}

TEST_P(AnnouncementsUnder, ChangeNoOrderAndMakeTasksShorter) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = device_with_followers();
    const Workload workload = workload_of_tasks(dice, dice.between(2, 8), 1);  // one window
    const std::string ordering(GetParam());
    const Watched heard = watched_run(device, workload, ordering);
    const Watched ignored = watched_run(device, workload, ordering, "fifo", Announcements::AreIgnored);
    EXPECT_EQ(order_of(heard.trace, workload), order_of(ignored.trace, workload));
    EXPECT_LE(length_of(heard.trace), length_of(ignored.trace));
    const bool has_followers = !inner_operations(workload).empty();
    if (has_followers && seed < 10) {
      EXPECT_LT(length_of(heard.trace), length_of(ignored.trace));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Orderings, AnnouncementsUnder, testing::Values("strings", "cumas", "cumas-dp"),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Announcements, AreNotOfWhatTheHostIssuesLater) {
  Launch later = launch_of(40, 100);
  later.pace.host = Duration(1);
  Launch after = launch_of(40, 100);
  after.pace.after = Duration(1);
  const Workload workload{.name = "paced",
                          .applications = {application_of(
                              "a", {launch_of(40, 100), later, launch_of(40, 100), after, launch_of(40, 100)})}};
  const std::set<OperationId> sure{operation(2), operation(4)};
  EXPECT_EQ(watched_run(device_with_followers(), workload, "strings").announced, sure);
  EXPECT_EQ(watched_run(device_with_followers(), workload, "arrival").announced, sure);
}

TEST(Announcements, BringTheTimeBetweenLaunchesThatTheDeviceHas) {
  const Workload workload{.name = "one",
                          .applications = {application_of("a", {launch_of(40, 100), launch_of(40, 100)})}};
  const Device device = device_with_followers();
  const auto gap = [&](Announcements announcements) {
    const Trace trace = watched_run(device, workload, "strings", "fifo", announcements).trace;
    return block_starts(trace, 1).front() - ns(events_of(trace, EventKind::BlockEnded, 0).back().time);
  };
  EXPECT_EQ(gap(Announcements::AreHeard), 90);
  EXPECT_EQ(gap(Announcements::AreIgnored), 80 + 300) << "until the host knows, and until the launch begins";
}

}  // namespace
}  // namespace gpushare
