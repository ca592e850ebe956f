// SPDX-License-Identifier: Apache-2.0
#include "core/session/several_devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/trace_check.hpp"
#include "core/policies/registry.hpp"
#include "core/session/realtime_simulated_gpu.hpp"
#include "core/trace/device_events.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr Duration patience_of_several = 30s;
const std::vector<int> two_sms_each{2, 2};

/// One of several sessions.
struct OneOfSeveral {
  Session session{realtime_device(small_device(2), 1, 1.0),
                  [](const std::shared_ptr<const void>& /*world*/) { return make_policy("fifo"); }};

  void run(const std::string& name, std::int64_t blocks) {
    const ApplicationId application = session.add({.name = name});
    EXPECT_TRUE(session.wait(session.submit(application, launch_of(blocks, 100'000)), patience_of_several));
  }
};

/// Their clocks differ by a second.
SessionRecord two_finished() {
  OneOfSeveral first;
  OneOfSeveral second;
  first.run("a", 4);
  second.run("b", 5);
  first.run("c", 6);
  std::vector<OfDevice<SessionRecord>> records;
  records.push_back({first.session.finish(patience_of_several), 0s});
  records.push_back({second.session.finish(patience_of_several), 1s});
  return merged(std::move(records), two_sms_each);
}

TEST(SeveralDevices, ApplicationsAreInTheOrderInWhichTheyCame) {
  const SessionRecord all = two_finished();
  std::vector<std::string> names;
  for (const Application& each : all.workload.applications) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("a", "c", "b"));
  EXPECT_GE(all.workload.applications[2].arrival, 1s);
  EXPECT_EQ(all.turnarounds.size(), 3U);
}

TEST(SeveralDevices, TheTraceOfEachDeviceIsPossibleThere) {
  const SessionRecord all = two_finished();
  const std::vector<Trace> traces = traces_by_device(all.trace, two_sms_each);
  for (const Trace& each : traces) require_possible(each, all.workload, small_device(2));
  EXPECT_TRUE(std::ranges::is_sorted(all.trace.events, {}, &Event::time));
  std::vector<std::int64_t> blocks(3, 0);
  for (std::size_t device = 0; device < traces.size(); ++device) {
    EXPECT_FALSE(traces[device].decisions.empty());
    for (const Event& event : traces[device].events) {
      if (event.kind != EventKind::BlockEnded) continue;
      blocks[index(event.application)] += event.blocks;
      EXPECT_EQ(device, index(event.application) == 2 ? 1U : 0U);
      EXPECT_EQ(index(event.operation), index(event.application));
      EXPECT_GT(event.time, event.started);
    }
  }
  EXPECT_THAT(blocks, ElementsAre(4, 6, 5));
}

TEST(SeveralDevices, AStatusSaysWhichDeviceEachApplicationIsOn) {
  OneOfSeveral first;
  OneOfSeveral second;
  second.run("b", 4);
  first.run("a", 4);
  const SessionStatus all = merged({{first.session.status(), 0s}, {second.session.status(), 0s}});
  ASSERT_EQ(all.applications.size(), 2U);
  EXPECT_EQ(all.applications[0].name, "b");
  EXPECT_EQ(index(all.applications[0].device), 1U);
  EXPECT_EQ(index(all.applications[1].device), 0U);
}

TEST(SeveralDevices, ThePastOfAllIsByTheClockOfTheFirst) {
  const auto application = std::make_shared<const PastApplication>();
  const SessionPast early{.now = Time(5s), .operations = {{.application = application, .end = Time(4s)}}};
  const SessionPast late{.now = Time(3s),
                         .operations = {{.application = application, .end = Time(1s)}},
                         .quotas = {{.application = application, .begin = Time(1s), .end = Time(2s)}},
                         .holds = {{.application = application, .time = Time(1s), .end = Time(2s)}}};
  const SessionPast all = merged({{early, 0s}, {late, 2s}});
  EXPECT_EQ(all.now, Time(5s));
  EXPECT_EQ(all.operations.front().end, Time(3s));
  EXPECT_EQ(all.quotas.front().begin, Time(3s));
  EXPECT_EQ(all.holds.front().end, Time(4s));
}

}  // namespace
}  // namespace gpushare
