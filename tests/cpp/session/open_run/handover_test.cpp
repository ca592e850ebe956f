// SPDX-License-Identifier: Apache-2.0
#include "core/session/open_run/handover.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "hand_written_events.hpp"
#include "messages.hpp"
#include "session/interrupted_run.hpp"

namespace gpushare {
namespace {

using namespace test;

/// What the history leads to, told of everything that the real run knows of.
State rebuilt(const OpenRun& run, const std::vector<Application>& applications, const std::vector<Operation>& work) {
  State state(run.state().device());
  std::vector<ApplicationId> present;
  for (const Application& each : applications) present.push_back(state.add(std::make_shared<const Application>(each)));
  for (const Operation& each : work) state.add(each);
  for (const Event& event : history_of(run.state(), present)) state.update(event);
  return state;
}

TEST(Handover, TheHistoryLeadsToThePresentState) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = random_device(dice);
    InterruptedRun trial(device, "even", seed);
    std::vector<Application> applications;
    std::vector<Operation> work;
    for (int number = 0; number < 3; ++number) {
      applications.push_back({.name = std::string(1, static_cast<char>('a' + number))});
      const ApplicationId id = trial.add(applications.back().name);
      work.emplace_back(random_launch(dice, device));
      trial.submit(id, work.back());
      ASSERT_TRUE(trial.advance(dice.between(1, 60)));
    }
    trial.run().set_priority(ApplicationId{1}, 7, trial.now());
    const State& state = trial.run().state();
    const State again = rebuilt(trial.run(), applications, work);
    EXPECT_EQ(again.now(), state.now());
    EXPECT_EQ(again.priority(ApplicationId{1}), 7);
    ASSERT_EQ(again.running().size(), state.running().size());
    for (std::size_t place = 0; place < state.running().size(); ++place) {
      const RunningLaunch& was = state.running()[place];
      const RunningLaunch& is = again.running()[place];
      EXPECT_EQ(is.id, was.id);
      EXPECT_EQ(is.arrival, was.arrival);
      EXPECT_EQ(is.priority, was.priority);
      EXPECT_EQ(is.started, was.started);
      EXPECT_EQ(is.done, was.done);
      for (std::size_t sm = 0; sm < was.per_sm.size(); ++sm) {
        EXPECT_EQ(is.per_sm[sm].resident, was.per_sm[sm].resident);
        EXPECT_EQ(is.per_sm[sm].done, was.per_sm[sm].done);
        EXPECT_EQ(is.per_sm[sm].active(state.now()), was.per_sm[sm].active(state.now()));
      }
    }
  }
}

TEST(Handover, TheHistoryTellsWhatIsExpectedOfAPart) {
  HandWrittenRun run(small_device(2), workload_of({launch_of(100, 1), launch_of(100, 1)}));
  for (const int launch : {0, 1}) run.arrive(launch, 0);
  run.expect_blocks(1, 30, 10);
  State again(run.state().device());
  std::vector<ApplicationId> present;
  const Workload workload = workload_of({launch_of(100, 1), launch_of(100, 1)});
  for (const Application& each : workload.applications) {
    present.push_back(again.add(std::make_shared<const Application>(each)));
    again.add(each.operations.front());
  }
  for (const Event& event : history_of(run.state(), present)) again.update(event);
  EXPECT_EQ(again.running()[0].unfinished(), 100);
  EXPECT_EQ(again.running()[1].unfinished(), 30);
}

TEST(Handover, ThePlanOfTheNewPolicyHoldsAtOnce) {
  InterruptedRun trial(small_device(2), "fifo");
  const ApplicationId first = trial.add("first");
  const ApplicationId second = trial.add("second", 5);
  const OperationId long_one = trial.submit(first, launch_of(1000, 100));
  const OperationId urgent = trial.submit(second, launch_of(8, 100));
  ASSERT_TRUE(trial.advance(20));
  ASSERT_EQ(trial.run().state().find(urgent)->started, 0);
  trial.hand_over("effisha-static");
  EXPECT_EQ(trial.run().plan().shares.front().launch, urgent);
  ASSERT_TRUE(trial.advance());
  Trace trace;
  trial.close(trace);
  EXPECT_LT(end_of(trace, static_cast<int>(urgent)), end_of(trace, static_cast<int>(long_one)));
}

TEST(Handover, AHandoverToAPolicyThatRefusesChangesNothing) {
  InterruptedRun trial(small_device(2), "fifo");
  const ApplicationId negative = trial.add("negative", -1);
  trial.submit(negative, launch_of(100, 100));
  ASSERT_TRUE(trial.advance(10));
  EXPECT_THAT(message_of<PolicyError>([&] { trial.hand_over("effisha-dynamic"); }), naming("negative", -1));
  EXPECT_TRUE(trial.advance());
}

}  // namespace
}  // namespace gpushare
