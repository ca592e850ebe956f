// SPDX-License-Identifier: Apache-2.0
// Launches whose blocks all begin at once, and are over before an order could reach them, run as they were written.
#include <gmock/gmock.h>

#include "cuda/whole_launch.hpp"
#include "telling_launches.hpp"
#include "trace_promises.hpp"

namespace gpushare::cuda::test {
namespace {

using testing::Each;
using testing::IsEmpty;

constexpr unsigned all_at_once = 8;

class FleetingLaunches : public TellingLaunches {
 protected:
  FleetingLaunches() { let_win(LaunchWay::Workers); }  // which is no reason

  /// Once more, when it is known how long blocks take.
  Trace run_again_under(const std::string& policy) {
    run_under(policy);
    resources->fleeting = Duration(1'000'000'000);
    return run_under(policy);
  }
};

TEST_F(FleetingLaunches, RunWholeWithoutBeingAsked) {
  add_application("only", 6, all_at_once);
  run_under("fifo");
  EXPECT_THAT(whole_launches(0, all_at_once), IsEmpty());
  const Trace trace = run_again_under("fifo");
  EXPECT_EQ(whole_launches(0, all_at_once).size(), 6u);
  gpushare::test::expect_streams_in_order(trace, work.workload);
}

TEST_F(FleetingLaunches, HaveBlocksThatWaitForNoOthers) {
  add_application("only", 6, blocks);
  run_again_under("fifo");
  EXPECT_THAT(whole_launches(), IsEmpty());
}

TEST_F(FleetingLaunches, HaveAllSms) {
  add_application("first", 6, all_at_once);
  add_application("second", 6, all_at_once);
  run_again_under("even");
  for (const std::size_t application : {0u, 1u}) {  // with half of the SMs, or alone with all
    EXPECT_THAT(whole_launches(application, all_at_once), Each(testing::SizeIs(testing::Gt(2u))));
  }
}

TEST_F(FleetingLaunches, LackRoomAsSoonAsThePolicyGivesThemAny) {
  add_application("only", 1, all_at_once);
  const Submission submission{.operation = &work.workload.applications.front().operations.front()};
  WholeLaunch launch(*resources, submission, std::get<DeviceLaunch>(work.program.front()));
  EXPECT_EQ(launch.claim().unclaimed, 0);
  launch.set_share({.quota = Quota::everywhere(1)}, 0);
  EXPECT_EQ(launch.claim().unclaimed, all_at_once);
}

TEST_F(FleetingLaunches, HaveRoomMadeForThem) {
  add_application("long", 1, 4000);
  add_application("fleeting", 6, all_at_once);
  run_again_under("fifo");
  EXPECT_EQ(whole_launches(1, all_at_once).size(), 6u);
}

}  // namespace
}  // namespace gpushare::cuda::test
