// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "hand_written_events.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

Workload long_and_short(std::int64_t short_arrival = 0) {
  return workload_of({with_alone(launch_of(90, 100), 2500), with_alone(launch_of(9, 100), 300)}, {0, short_arrival});
}

PolicyRehearsal both_running(std::string_view policy) {
  PolicyRehearsal run(policy, small_device(), long_and_short());
  run.arrive(0, 0);
  run.arrive(1, 0);
  return run;
}

TEST(ShortestJobFirst, GivesTheShortestEverythingAndTheOthersNothing) {
  EXPECT_THAT(both_running("sjf").order(), ElementsAre(1));
  EXPECT_THAT(both_running("sjf").quotas(1), ElementsAre(4));
}

TEST(LongestJobFirst, GivesTheLongestEverythingAndTheOthersNothing) {
  EXPECT_THAT(both_running("ljf").order(), ElementsAre(0));
}

TEST(ShortestJobFirst, WaitsForAShorterLaunchThatArrivesWithinAHundredCycles) {
  PolicyRehearsal run("sjf", small_device(), long_and_short(100));
  run.arrive(0, 0);
  EXPECT_THAT(run.order(), IsEmpty());
  run.arrive(1, 100);
  EXPECT_THAT(run.order(), ElementsAre(1));
}

TEST(ShortestJobFirst, DoesNotWaitLonger) {
  PolicyRehearsal run("sjf", small_device(), long_and_short(101));
  run.arrive(0, 0);
  EXPECT_THAT(run.order(), ElementsAre(0));
}

TEST(LongestJobFirst, DoesNotWaitForAShorterLaunch) {
  PolicyRehearsal run("ljf", small_device(), long_and_short(50));
  run.arrive(0, 0);
  EXPECT_THAT(run.order(), ElementsAre(0));
}

TEST(ShortestJobFirst, RunsOneLaunchAfterTheOther) {
  const Trace trace = record(small_device(), long_and_short(), "sjf");
  EXPECT_EQ(end_of(trace, 1), 300);
  EXPECT_EQ(block_starts(trace, 0).front(), 300);
  EXPECT_EQ(end_of(trace, 0), 300 + 2300);
}

TEST(ShortestJobFirst, DoesNotWaitForALaunchThatDoesNotComeYet) {
  Device device = small_device();
  device.memory = Bytes{1000};
  Workload waits_for_memory = long_and_short();
  for (Application& application : waits_for_memory.applications) application.memory = device.memory;
  Workload waits_for_its_host = long_and_short();
  std::get<Launch>(waits_for_its_host.applications[1].operations[0]).pace = {.host = Duration(1'000'000)};
  for (const Workload& workload : {waits_for_memory, waits_for_its_host}) {
    const Trace trace = record(device, workload, "sjf");
    EXPECT_LT(block_starts(trace, 0).front(), 1000);
  }
}

class KnownRuntimes : public testing::TestWithParam<const char*> {};

TEST_P(KnownRuntimes, AreDemandedByNameOfTheKernel) {
  const Workload workload = workload_of({launch_of(1, 1, "saxpy"), launch_of(1, 1, "saxpy")});
  EXPECT_THAT(message_of<PolicyError>([&] { record(small_device(), workload, GetParam()); }), naming("saxpy"));
}

INSTANTIATE_TEST_SUITE_P(Oracles, KnownRuntimes, testing::Values("sjf", "ljf"));

}  // namespace
}  // namespace gpushare
