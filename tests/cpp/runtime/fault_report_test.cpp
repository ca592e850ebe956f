// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/fault_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_launches.hpp"

namespace gpushare {

void PrintTo(const BegunOperation& operation, std::ostream* out) {
  *out << index(operation.id) << " at stage " << static_cast<int>(operation.stage);
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FaultReport : public testing::Test {
 protected:
  static constexpr Time now{};

  test::FakeLaunch& add(int operation) {
    launches.push_back(hardware.make(test::FakeHardware::submission(operation, operation)));
    return hardware.launch(operation);
  }
  static test::FakeLaunch& queued_behind(test::FakeLaunch& leader, int operation) {
    leader.queue_successor(test::FakeHardware::submission(operation, 0), now);
    return static_cast<test::FakeLaunch&>(const_cast<GpuLaunch&>(*leader.successor()));
  }
  std::vector<BegunOperation> begun() const { return begun_launches(launches, leader_of, successors); }
  static BegunOperation at(int operation, Stage stage) { return {OperationId{operation}, stage}; }

  test::FakeHardware hardware;
  std::vector<std::unique_ptr<GpuLaunch>> launches;
  std::unordered_map<OperationId, OperationId> leader_of;
  Successors successors;
};

TEST_F(FaultReport, LaunchWithoutGridsHasNotBegun) {
  add(1);
  EXPECT_THAT(begun(), IsEmpty());
}

TEST_F(FaultReport, LaunchIsOnTheDeviceUntilItsGridsReachTheirEnd) {
  test::FakeLaunch& launch = add(1);
  launch.hand_to_hardware(0, now);
  EXPECT_THAT(begun(), ElementsAre(at(1, Stage::OnDevice)));
  launch.end_grids();
  EXPECT_THAT(begun(), ElementsAre(at(1, Stage::OffDevice)));
}

TEST_F(FaultReport, SuccessorHasBegunOnceItsLeaderIsOff) {
  test::FakeLaunch& leader = add(1);
  leader.hand_to_hardware(0, now);
  queued_behind(leader, 2);
  EXPECT_THAT(begun(), ElementsAre(at(1, Stage::OnDevice)));
  leader.end_grids();
  EXPECT_THAT(begun(), ElementsAre(at(1, Stage::OffDevice), at(2, Stage::OnDevice)));
}

TEST_F(FaultReport, QueuedAndLeavingSuccessorsCount) {
  for (const int operation : {2, 4}) {
    auto launch = hardware.make(test::FakeHardware::submission(operation, operation));
    launch->hand_to_hardware(0, now);
    successors.keep(std::move(launch), OperationId{operation - 1});
  }
  successors.dismiss_behind(OperationId{3}, now);
  EXPECT_THAT(begun(), ElementsAre(at(2, Stage::OnDevice), at(4, Stage::OnDevice)));
  add(3).hand_to_hardware(0, now);  // the leader of 4 is on the hardware, so 4 has not begun
  EXPECT_THAT(begun(), ElementsAre(at(3, Stage::OnDevice), at(2, Stage::OnDevice)));
}

TEST_F(FaultReport, StoppedSuccessorWaitsForItsLeader) {
  add(1).hand_to_hardware(0, now);
  add(2).hand_to_hardware(0, now);
  leader_of[OperationId{2}] = OperationId{1};
  EXPECT_THAT(begun(), ElementsAre(at(1, Stage::OnDevice)));
  hardware.launch(1).end_grids();
  EXPECT_THAT(begun(), ElementsAre(at(1, Stage::OffDevice), at(2, Stage::OnDevice)));
}

}  // namespace
}  // namespace gpushare
