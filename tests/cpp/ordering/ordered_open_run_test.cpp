// SPDX-License-Identifier: Apache-2.0
// Orderings of work that comes in while a run goes on: whatever happens, the order is kept, nothing is lost and nothing
// hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "messages.hpp"
#include "ordered_run.hpp"
#include "ordered_session.hpp"
#include "ordering_names.hpp"
#include "random_tasks.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(OrderedOpenRun, TasksOfAWindowGoInTheBestOrder) {
  OrderedSession session("cumas", small_device());
  const ApplicationId first = session.add();
  const ApplicationId second = session.add();
  session.submit(first, {copy_to_device(100), launch_of(4, 5)});
  session.submit(second, {copy_to_device(10), launch_of(4, 50)});
  ASSERT_TRUE(session.advance());
  EXPECT_THAT(session.begun(), ElementsAre(2, 3, 0, 1)) << "the short copy first, and its kernel beside the other copy";
}

TEST(OrderedOpenRun, ATaskInTheQueueTakesInWhatIsIssuedMeanwhile) {
  OrderedSession session("strings", small_device());
  const ApplicationId first = session.add();
  const ApplicationId second = session.add();
  session.submit(first, {copy_to_device(100)});
  ASSERT_TRUE(session.advance(1));
  session.submit(second, {copy_to_device(30)});
  ASSERT_TRUE(session.advance(0));
  session.submit(second, {launch_of(4, 5), launch_of(4, 5)});
  ASSERT_TRUE(session.advance());
  EXPECT_THAT(session.announced(), ElementsAre(3)) << "its two launches are of one task";
}

TEST(OrderedOpenRun, KernelsAloneAreOrderedWhenTheSmsHaveRoom) {
  OrderedSession session("cumas:objective=turnaround", small_device());
  session.submit(session.add(), {launch_of(40, 1000)});
  for (const std::int64_t block_time : {300, 200, 100}) {
    ASSERT_TRUE(session.advance(2));
    session.submit(session.add(), {launch_of(8, block_time)});
  }
  ASSERT_TRUE(session.advance());
  EXPECT_THAT(session.begun(), ElementsAre(0, 3, 2, 1)) << "the shortest first, although it came last";
}

TEST(OrderedOpenRun, TheLongestTaskWaitsForOneWindowAtMost) {
  OrderedSession session("cumas:objective=turnaround:window=3", small_device());
  std::vector<Operation> short_tasks;
  for (int task = 0; task < 30; ++task) {
    short_tasks.emplace_back(launch_of(4, 100));
    short_tasks.emplace_back(copy_to_host(1));  // ends the task
  }
  for (int number = 0; number < 4; ++number) session.submit(session.add(), short_tasks);
  ASSERT_TRUE(session.advance(20));
  const auto before = static_cast<std::ptrdiff_t>(session.begun().size());
  session.submit(session.add(), {launch_of(40, 1000)});
  ASSERT_TRUE(session.advance());
  const std::vector<int> begun = session.begun();
  const auto its = std::ranges::find(begun, 240);
  ASSERT_NE(its, begun.end());
  EXPECT_LT(its - begun.begin(), before + 20) << "of 240";
}

TEST(OrderedOpenRun, KernelsAloneNeedNotWaitForTheUplink) {
  OrderedSession session("cumas", small_device());
  session.submit(session.add(), {copy_to_device(9000)});
  ASSERT_TRUE(session.advance(1));
  session.submit(session.add(), {launch_of(4, 100)});
  ASSERT_TRUE(session.advance());
  EXPECT_LT(session.end_of(1), 9000);
}

TEST(OrderedOpenRun, WhatIsHeldBackWaits) {
  OrderedSession session("strings", small_device());
  const ApplicationId first = session.add();
  const ApplicationId second = session.add();
  session.submit(first, {launch_of(40, 100, "first")});
  session.submit(second, {launch_of(30, 100, "second"), copy_to_host(1)});
  ASSERT_TRUE(session.advance(3));
  const SessionStatus status = status_of(session.run(), session.now());
  ASSERT_THAT(status.applications, SizeIs(2));
  EXPECT_EQ(status.applications[0].state, "running");
  EXPECT_EQ(status.applications[1].state, "waiting");
  EXPECT_EQ(status.applications[1].kernel, "second");
  EXPECT_EQ(status.applications[1].blocks, 30);
  EXPECT_EQ(status.applications[1].waiting, 1u);
}

TEST(OrderedOpenRun, ATaskWithdrawnWhileHeldBackEndsAtOnce) {
  OrderedSession session("strings", small_device());
  const ApplicationId first = session.add();
  const ApplicationId second = session.add();
  const ApplicationId third = session.add();
  for (const ApplicationId each : {first, second, third}) session.submit(each, {launch_of(40, 100)});
  ASSERT_TRUE(session.advance(3));
  EXPECT_THAT(session.withdraw(second), ElementsAre(OperationId{1}));
  EXPECT_TRUE(session.run().streams().at(second).has_ended);
  ASSERT_TRUE(session.advance());
  EXPECT_THAT(session.begun(), ElementsAre(0, 2));
  Trace trace = session.trace();
  const Workload workload = session.run().close(trace).workload;
  ASSERT_THAT(workload.applications, SizeIs(2)) << "of the second one nothing is left";
  EXPECT_EQ(workload.applications[1].name, "2");
  expect_every_promise(trace, small_device(), workload);
}

TEST(OrderedOpenRun, ATaskWithdrawnBetweenItsOperationsIsNotWaitedFor) {
  OrderedSession session("strings", small_device());
  const ApplicationId first = session.add();
  const ApplicationId second = session.add();
  session.submit(first, {copy_to_device(100), launch_of(4, 1000), copy_to_host(50)});
  session.submit(second, {launch_of(4, 10)});
  ASSERT_TRUE(session.advance(1));
  EXPECT_THAT(session.begun(), ElementsAre(0)) << "the first one's kernel comes first";
  EXPECT_THAT(session.withdraw(first), SizeIs(2));
  ASSERT_TRUE(session.advance());
  EXPECT_THAT(session.begun(), ElementsAre(0, 3));
  EXPECT_LT(session.end_of(3), 100) << "the copy ends as it would have; the other one's kernel need not wait for it";
}

TEST(OrderedOpenRun, ALaunchThatIsCutShortTellsNothingOfItsKernel) {
  OrderedSession session("cumas:estimates=learnt:objective=turnaround", small_device());
  const ApplicationId first = session.add();
  session.submit(first, {launch_of(400, 100, "long")});
  ASSERT_TRUE(session.advance(10));
  session.withdraw(first);
  ASSERT_TRUE(session.advance());
  const ApplicationId second = session.add();
  const ApplicationId third = session.add();
  session.submit(second, {launch_of(4, 100, "short")});
  ASSERT_TRUE(session.advance());
  session.submit(second, {launch_of(4, 100, "short")});
  session.submit(third, {launch_of(400, 100, "long")});
  ASSERT_TRUE(session.advance());
  EXPECT_THAT(session.begun(), ElementsAre(0, 1, 3, 2)) << "of 'long' nobody knows how long it takes, so it goes first";
}

TEST(OrderedOpenRun, WhatComesAllAtOnceRunsAsAKnownWorkloadDoes) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = small_device(2);
    const Workload workload = workload_of_tasks(dice, 6);
    for (const char* ordering : {"strings", "cumas:window=4", "cumas-dp:kernels=2"}) {
      OrderedSession session(ordering, device);
      for (const Application& each : workload.applications) session.submit(session.add(), each.operations);
      ASSERT_TRUE(session.advance());
      const Trace known = ordered_run(device, workload, std::string(ordering) + "+fifo");
      for (std::size_t each = 0; each < session.begun().size(); ++each) {
        EXPECT_EQ(session.end_of(static_cast<int>(each)), test::end_of(known, static_cast<int>(each)));
      }
    }
  }
}

TEST(OrderedOpenRun, WithoutAnOrderingNothingChanges) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    RandomSession with("arrival", "srtf", seed);
    RandomSession without("", "srtf", seed);
    with.run();
    without.run();
    EXPECT_EQ(to_bytes(with.trace()), to_bytes(without.trace()));
  }
}

class EveryOrderingLive : public testing::TestWithParam<OrderingEntry> {};

TEST_P(EveryOrderingLive, FinishesWhatStaysAndKeepsEveryPromise) {
  const std::vector<std::string> options{"",
                                         ":window=1",
                                         ":window=3:kernels=2",
                                         ":kernels=3:estimates=learnt",
                                         ":objective=turnaround:piece_mb=0.001",
                                         ":pieces=urgent:piece_mb=0.0005"};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const std::string chosen = !GetParam().has_windows() ? "" : options[seed % options.size()];
    RandomSession session(std::string(GetParam().name) + chosen, seed % 2 ? "srtf" : "fifo", seed);
    session.run();
    session.check();
  }
}

INSTANTIATE_TEST_SUITE_P(Orderings, EveryOrderingLive, testing::ValuesIn(orderings().begin(), orderings().end()),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(RequireOpenOrdering, RefusesALimitOfMemory) {
  EXPECT_EQ(message_of<InvalidInput>([] { require_open_ordering("cumas:window=4"); }), "");
  EXPECT_EQ(message_of<InvalidInput>([] { require_open_ordering("arrival"); }), "");
  EXPECT_THAT(message_of<InvalidInput>([] { require_open_ordering("cumas:memory_gb=4"); }), naming("memory_gb"));
}

}  // namespace
}  // namespace gpushare
