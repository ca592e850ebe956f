// SPDX-License-Identifier: Apache-2.0
#include "core/model/workload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/model/errors.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::HasSubstr;

std::string complaint(const Workload& workload) {
  return message_of<InvalidInput>([&] { validate(workload, small_device()); });
}

std::string complaint(const std::function<void(Launch&)>& damage) {
  Launch launch = launch_of(1, 100, "saxpy");
  damage(launch);
  return complaint(workload_of({launch}));
}

TEST(Workload, ASampleIsValid) { EXPECT_NO_THROW(validate(workload_of({launch_of(1, 100)}), small_device())); }

TEST(Workload, AnEmptyOneIsRefused) { EXPECT_THAT(complaint(Workload{.name = "none"}), HasSubstr("'none' is empty")); }

TEST(Workload, AnApplicationWithoutOperationsIsRefused) {
  EXPECT_THAT(complaint(Workload{.applications = {application_of("lazy", {})}}), HasSubstr("'lazy': no operations"));
}

TEST(Workload, TwoApplicationsOfOneNameAreRefused) {
  const Application application = application_of("twin", {launch_of(1, 100)});
  EXPECT_THAT(complaint(Workload{.applications = {application, application}}),
              HasSubstr("'twin': the name is used twice"));
}

TEST(Workload, AnArrivalBeforeTheRunIsRefused) {
  EXPECT_THAT(complaint(workload_of({launch_of(1, 100)}, {-5})), HasSubstr("arrival must not be negative, got -5"));
}

TEST(Workload, AWeightMustBePositive) {
  Workload workload = workload_of({launch_of(1, 100)});
  workload.applications[0].weight = 0;
  EXPECT_THAT(complaint(workload), HasSubstr("weight must be a positive number, got 0"));
}

TEST(Workload, AFloorIsAShareOfTheSpeedAlone) {
  Workload workload = workload_of({launch_of(1, 100)});
  workload.applications[0].min_speed = 0;
  EXPECT_THAT(complaint(workload), HasSubstr("min_speed must be a positive number, got 0"));
  workload.applications[0].min_speed = 1.5;
  EXPECT_THAT(complaint(workload), HasSubstr("'a': a min_speed of 1.5 cannot be kept: 1 is its speed with the GPU"));
  workload.applications[0].min_speed = 1;
  EXPECT_NO_THROW(validate(workload, small_device()));
}

TEST(Workload, ALatencyShorterThanALaunchAloneIsRefused) {
  Workload workload = workload_of({launch_of(1, 100, "short"), launch_of(1, 100, "long")});
  workload.applications[0].operations.push_back(workload.applications[1].operations[0]);
  workload.applications[0].latency = Duration(0);
  EXPECT_THAT(complaint(workload), HasSubstr("latency must be a positive number, got 0"));
  workload.applications[0].latency = Duration(300);
  EXPECT_NO_THROW(validate(workload, small_device()));  // nobody knows how long they take
  std::get<Launch>(workload.applications[0].operations[0]).alone = Duration(250);
  EXPECT_NO_THROW(validate(workload, small_device()));
  std::get<Launch>(workload.applications[0].operations[1]).alone = Duration(301);
  EXPECT_THAT(complaint(workload),
              HasSubstr("'a': a latency of 300 ns cannot be met: a launch of kernel 'long' takes 301 ns"));
}

TEST(Workload, ACopyMustMoveSomething) {
  EXPECT_THAT(complaint(Workload{.applications = {application_of("mover", {copy_to_host(0)})}}),
              HasSubstr("'mover', copy: size in bytes must be a positive number, got 0"));
}

TEST(Workload, ALaunchNamesItsApplicationAndKernel) {
  EXPECT_THAT(complaint([](Launch& launch) { launch.blocks = 0; }),
              HasSubstr("application 'a', kernel 'saxpy': number of blocks must be a positive number, got 0"));
}

TEST(Workload, ImpossibleNeedsAreRefused) {
  EXPECT_THAT(complaint([](Launch& launch) { launch.blocks = -3; }), HasSubstr("number of blocks"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.needs.threads = 0; }), HasSubstr("threads per block"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.needs.registers_per_thread = -1; }),
              HasSubstr("registers per thread"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.needs.shared_memory = Bytes{-1}; }),
              HasSubstr("shared memory per block"));
}

TEST(Workload, ImpossibleCostsAreRefused) {
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.latency = Duration(0); }), HasSubstr("latency"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.issue = Duration(-1); }), HasSubstr("issue time"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.issue = Duration(101); }),
              HasSubstr("must not exceed its latency"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.off_sm = Bytes{-1}; }), HasSubstr("off-SM bytes"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.llc_hit_ratio = 1.5; }),
              HasSubstr("LLC hit ratio must lie in 0..1, got 1.5"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.variation_ratio = -1; }), HasSubstr("variation ratio"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.cost.startup_ratio = -1; }), HasSubstr("startup ratio"));
}

TEST(Workload, ABlockThatFitsNoSmNamesTheResource) {
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.needs.threads = 257; }),
              HasSubstr("fits no SM of small (too much: threads)"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.needs.registers_per_thread = 300; }),
              HasSubstr("(too much: registers)"));
  EXPECT_THAT(complaint([](Launch& launch) { launch.kernel.needs.shared_memory = Bytes{16385}; }),
              HasSubstr("(too much: shared memory)"));
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
