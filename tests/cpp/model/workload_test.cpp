// SPDX-License-Identifier: Apache-2.0
#include "core/model/workload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/model/errors.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

std::string complaint(const Workload& workload) {
  return message_of<InvalidInput>([&] { validate(workload, small_device()); });
}

std::string complaint(const std::function<void(Launch&)>& damage) {
  Launch launch = launch_of(1, 100, "saxpy");
  damage(launch);
  return complaint(workload_of({launch}));
}

TEST(Workload, ASampleIsValid) { EXPECT_NO_THROW(validate(workload_of({launch_of(1, 100)}), small_device())); }

TEST(Workload, AnEmptyOneIsRefused) { EXPECT_THAT(complaint(Workload{.name = "none"}), naming("none")); }

TEST(Workload, AnApplicationWithoutOperationsIsRefused) {
  EXPECT_THAT(complaint(Workload{.applications = {application_of("lazy", {})}}), naming("lazy"));
}

TEST(Workload, TwoApplicationsOfOneNameAreRefused) {
  const Application application = application_of("twin", {launch_of(1, 100)});
  EXPECT_THAT(complaint(Workload{.applications = {application, application}}), naming("twin"));
}

TEST(Workload, AnArrivalBeforeTheRunIsRefused) {
  EXPECT_THAT(complaint(workload_of({launch_of(1, 100)}, {-5})), naming("arrival", -5));
}

TEST(Workload, AWeightMustBePositive) {
  Workload workload = workload_of({launch_of(1, 100)});
  workload.applications[0].weight = 0;
  EXPECT_THAT(complaint(workload), naming("weight", 0));
}

TEST(Workload, AMinSpeedIsAShareOfTheSpeedAlone) {
  Workload workload = workload_of({launch_of(1, 100)});
  workload.applications[0].min_speed = 0;
  EXPECT_THAT(complaint(workload), naming("min_speed", 0));
  workload.applications[0].min_speed = 1.5;
  EXPECT_THAT(complaint(workload), naming("a", "min_speed", "1.5"));
  workload.applications[0].min_speed = 1;
  EXPECT_NO_THROW(validate(workload, small_device()));
}

TEST(Workload, ALatencyShorterThanALaunchAloneIsRefused) {
  Workload workload = workload_of({launch_of(1, 100, "short"), launch_of(1, 100, "long")});
  workload.applications[0].operations.push_back(workload.applications[1].operations[0]);
  workload.applications[0].latency = Duration(0);
  EXPECT_THAT(complaint(workload), naming("latency", 0));
  workload.applications[0].latency = Duration(300);
  EXPECT_NO_THROW(validate(workload, small_device()));  // nothing is known of how long they take
  std::get<Launch>(workload.applications[0].operations[0]).alone = Duration(250);
  EXPECT_NO_THROW(validate(workload, small_device()));
  std::get<Launch>(workload.applications[0].operations[1]).alone = Duration(301);
  EXPECT_THAT(complaint(workload), naming("a", 300, "long", 301));
}

TEST(Workload, ACopyMustMoveSomething) {
  EXPECT_THAT(complaint(Workload{.applications = {application_of("mover", {copy_to_host(0)})}}),
              naming("mover", "copy", 0));
}

TEST(Workload, ALaunchNamesItsApplicationAndKernel) {
  EXPECT_THAT(complaint([](Launch& launch) { launch.blocks = 0; }), naming("a", "saxpy", "blocks", 0));
}

TEST(Workload, ImpossibleNeedsAreRefused) {
  EXPECT_THAT(complaint([](Launch& launch) { launch.blocks = -3; }), naming("blocks", -3));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.needs.threads = 0; }), naming("threads", 0));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.needs.registers_per_thread = -1; }),
              naming("registers", -1));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.needs.shared_memory = Bytes{-1}; }), naming("shared", -1));
}

TEST(Workload, ImpossibleCostsAreRefused) {
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.latency = Duration(0); }), naming("latency", 0));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.issue = Duration(-1); }), naming("issue", -1));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.issue = Duration(101); }), naming("latency"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.off_sm = Bytes{-1}; }), naming("off-SM", -1));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.llc_hit_ratio = 1.5; }), naming("LLC", "0..1", "1.5"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.variation_ratio = -1; }), naming("variation", -1));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.startup_ratio = -1; }), naming("startup", -1));
}

TEST(Workload, ABlockThatFitsNoSmNamesTheResource) {
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.needs.threads = 257; }), naming("small", "threads"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.needs.registers_per_thread = 300; }), naming("registers"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.needs.shared_memory = Bytes{16385}; }), naming("shared"));
}

TEST(Workload, CountsTheOperationsOfAllApplications) {
  const Workload workload{.applications = {application_of("a", {copy_to_device(1), launch_of(1, 1)}),
                                           application_of("b", {launch_of(1, 1)})}};
  EXPECT_EQ(workload.operation_count(), 3U);
}

TEST(Workload, AloneKeepsOneApplicationAndLetsItArriveAtOnce) {
  const Workload workload = workload_of({launch_of(1, 10), launch_of(2, 20)}, {100, 200});
  const Workload only = alone(workload, ApplicationId{1});
  ASSERT_EQ(only.applications.size(), 1U);
  EXPECT_EQ(only.applications[0].name, "b");
  EXPECT_EQ(only.applications[0].arrival, Duration::zero());
  EXPECT_EQ(std::get<Launch>(only.applications[0].operations[0]).blocks, 2);
}

}  // namespace
}  // namespace gpushare
