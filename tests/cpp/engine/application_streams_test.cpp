// SPDX-License-Identifier: Apache-2.0
#include "core/engine/application_streams.hpp"

#include <gtest/gtest.h>

#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(ApplicationStreams, ArrivalsComeInOrderOfTimeAndThenOfTheWorkload) {
  const Workload workload = workload_of({launch_of(1, 1), launch_of(1, 1), launch_of(1, 1)}, {7, 5, 5});
  ApplicationStreams streams(workload);
  EXPECT_EQ(streams.next_arrival(), Time(Duration(5)));
  EXPECT_EQ(streams.arrive(), ApplicationId{1});
  EXPECT_EQ(streams.arrive(), ApplicationId{2});
  EXPECT_EQ(streams.next_arrival(), Time(Duration(7)));
  EXPECT_EQ(streams.arrive(), ApplicationId{0});
  EXPECT_EQ(streams.next_arrival(), std::nullopt);
}

TEST(ApplicationStreams, OperationsAreNumberedOverTheWholeWorkload) {
  const Workload workload{.applications = {application_of("a", {copy_to_device(1), launch_of(1, 1)}),
                                           application_of("b", {launch_of(5, 1)})}};
  ApplicationStreams streams(workload);
  EXPECT_EQ(streams.next(ApplicationId{1})->id, OperationId{2});
  EXPECT_EQ(streams.next(ApplicationId{0})->id, OperationId{0});
  EXPECT_EQ(streams.next(ApplicationId{0})->id, OperationId{1});
}

TEST(ApplicationStreams, AreFinishedWhenEveryApplicationHasBeenAskedBeyondItsEnd) {
  const Workload workload = workload_of({launch_of(1, 1)});
  ApplicationStreams streams(workload);
  EXPECT_TRUE(streams.next(ApplicationId{0}).has_value());
  EXPECT_FALSE(streams.finished());
  EXPECT_FALSE(streams.next(ApplicationId{0}).has_value());
  EXPECT_TRUE(streams.finished());
}

TEST(ApplicationStreams, AnOperationKeepsItsIdentityWithoutItsNeighbours) {
  const Workload both = workload_of({launch_of(1, 1), launch_of(1, 1)});
  const Workload only = alone(both, ApplicationId{1});
  const std::uint64_t beside_others = ApplicationStreams(both).next(ApplicationId{1})->identity;
  EXPECT_EQ(ApplicationStreams(only).next(ApplicationId{0})->identity, beside_others);
}

TEST(ApplicationStreams, OperationsDifferInIdentity) {
  const Workload workload{.applications = {application_of("a", {launch_of(1, 1), launch_of(1, 1)}),
                                           application_of("b", {launch_of(1, 1)})}};
  ApplicationStreams streams(workload);
  const auto first = streams.next(ApplicationId{0})->identity;
  EXPECT_NE(streams.next(ApplicationId{0})->identity, first);
  EXPECT_NE(streams.next(ApplicationId{1})->identity, first);
}

}  // namespace
}  // namespace gpushare
