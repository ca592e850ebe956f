// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/co_run_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

/// Says after every event whether the group has changed. Application n has launches n and n + 2.
class GroupOfTwo {
 public:
  GroupOfTwo() : workload_(with_two_launches_each()), device_(small_device(2)), state_(device_, workload_) {}

  bool arrive(int launch, std::int64_t at) { return happen(launch, EventKind::LaunchArrived, at); }
  bool end(int launch, std::int64_t at) { return happen(launch, EventKind::LaunchEnded, at); }
  bool wake(std::int64_t at) { return happen(0, EventKind::DeadlineReached, at); }

  std::vector<std::string> kernels() const {
    std::vector<std::string> names;
    for (const Member& member : group.members()) names.push_back(member.kernel);
    return names;
  }

  CoRunGroup group;

 private:
  /// Launches 0 and 1 are of the first application, 2 and 3 of the second.
  static Workload with_two_launches_each() {
    return {.name = "two",
            .applications = {application_of("a", {launch_of(9, 100, "x"), launch_of(3, 100, "x")}),
                             application_of("b", {launch_of(9, 100, "y"), launch_of(9, 100, "z")})}};
  }

  bool happen(int launch, EventKind kind, std::int64_t at) {
    const Event event{.time = Time(Duration(at)),
                      .application = static_cast<ApplicationId>(launch / 2),
                      .operation = operation(launch),
                      .kind = kind};
    state_.update(event);
    return group.observe(event, state_);
  }

  Workload workload_;
  Device device_;
  State state_;
};

TEST(CoRunGroup, MembersAreInOrderOfTheirIds) {
  GroupOfTwo run;
  EXPECT_TRUE(run.arrive(2, 0));
  EXPECT_TRUE(run.arrive(0, 10));
  EXPECT_THAT(run.kernels(), ElementsAre("x", "y"));
}

TEST(CoRunGroup, AnotherLaunchOfTheSameKernelChangesNothing) {
  GroupOfTwo run;
  run.arrive(0, 0);
  EXPECT_FALSE(run.end(0, 100));
  EXPECT_FALSE(run.arrive(1, 100));
  EXPECT_EQ(run.group.members().front().blocks, 3);  // but its grid is that of the latest launch
  EXPECT_EQ(run.group.next_departure(), std::nullopt);
}

TEST(CoRunGroup, ChangesWithAKernel) {
  GroupOfTwo run;
  run.arrive(2, 0);
  EXPECT_FALSE(run.end(2, 100));
  EXPECT_TRUE(run.arrive(3, 100));
  EXPECT_THAT(run.kernels(), ElementsAre("z"));
}

TEST(CoRunGroup, WhoLaunchesNothingMoreIsGoneAfterAWhile) {
  GroupOfTwo run;
  run.arrive(0, 0);
  run.arrive(2, 0);
  run.end(0, 100);
  const Time departure = run.group.next_departure().value();
  EXPECT_FALSE(run.wake(ns(departure) - 1));
  EXPECT_TRUE(run.wake(ns(departure)));
  EXPECT_THAT(run.kernels(), ElementsAre("y"));
}

TEST(CoRunGroup, PlacesAreLimitedByTheGridAndByTheSms) {
  const Member member{.residency = 4, .blocks = 10};
  EXPECT_EQ(member.places(2), 8);
  EXPECT_EQ(member.places(3), 10);
}

}  // namespace
}  // namespace gpushare
