// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/serial_execution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_written_events.hpp"
#include "sample_devices.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;

/// Launches of small_device(10), on which 40 blocks of 1000 ns run at a time.
class SerialRun : public HandWrittenRun {
 public:
  explicit SerialRun(const std::vector<std::int64_t>& blocks)
      : HandWrittenRun(device(), workload_of(launches(blocks))) {
    for (const std::int64_t each : blocks) {
      const auto number = static_cast<int>(schedule.slots.size());
      schedule.slots.push_back({.application = ApplicationId{number},
                                .running = OperationId{number},
                                .alone = 1000.0 * static_cast<double>(each) / 40,
                                .fills_gpu = true});
    }
  }
  std::vector<int> order() const {
    std::vector<int> numbers;
    for (const OperationId each : serial_order(schedule, remaining_, state()))
      numbers.push_back(static_cast<int>(each));
    return numbers;
  }

  CoSchedule schedule;

 private:
  static Device device() {
    Device device = small_device(10);
    device.tuning.switch_cost = Duration(1000);
    return device;
  }
  static std::vector<Launch> launches(const std::vector<std::int64_t>& blocks) {
    std::vector<Launch> launches;
    for (const std::int64_t each : blocks) launches.push_back(launch_of(each, 1000));
    return launches;
  }
  void observed(const Event& event) override { remaining_.observe(event, state()); }
  RemainingTime remaining_;
};

TEST(SerialOrder, IsShortestRemainingTimeFirst) {
  SerialRun run({4000, 400, 2000});
  for (int launch = 0; launch < 3; ++launch) run.arrive(launch, 0);
  EXPECT_THAT(run.order(), ElementsAre(1, 2, 0));
}

TEST(SerialOrder, AStartedLaunchIsPreemptedOnlyForAMuchShorterOne) {
  SerialRun run({4000, 2000, 200});
  for (int launch = 0; launch < 3; ++launch) run.arrive(launch, 0);
  run.start_block(0, 0, 0);
  EXPECT_THAT(run.order(), ElementsAre(2, 0, 1)) << "a tenth of 100 us is less than 50 us and the switch, not than 5";
}

TEST(SerialOrder, ALongWaitComesFirst) {
  SerialRun run({4000, 400});
  run.arrive(0, 0);
  run.arrive(1, 200'000);
  EXPECT_THAT(run.order(), ElementsAre(0, 1)) << "one launch of each takes 110 us";
}

TEST(SerialOrder, PredictedArrivalsAreLeftOut) {
  SerialRun run({400, 400});
  run.arrive(0, 0);
  run.arrive(1, 0);
  run.schedule.slots[0].running.reset();
  EXPECT_THAT(run.order(), ElementsAre(1));
}

TEST(OrderOfArrival, IsByTimeThenByNumber) {
  SerialRun run({400, 400, 400});
  run.arrive(1, 0);
  run.arrive(2, 10);
  run.arrive(0, 10);
  EXPECT_THAT(order_of_arrival(run.schedule, run.state()), ElementsAre(OperationId{1}, OperationId{0}, OperationId{2}));
}

CoSchedule two_launches(double one, double other) {
  CoSchedule schedule;
  for (const double alone : {one, other}) {
    schedule.slots.push_back({.application = static_cast<ApplicationId>(schedule.slots.size()), .alone = alone});
  }
  return schedule;
}

TEST(SerialAntt, IsThatOfShortestFirst) { EXPECT_DOUBLE_EQ(serial_antt(two_launches(300, 100)), (1 + 4.0 / 3) / 2); }

class ThroughputWithGaps : public testing::Test {
 protected:
  ThroughputWithGaps() { device_.delays.launch = Duration(100); }

  CoSchedule schedule_ = two_launches(400, 600);
  Device device_ = small_device();
  LaunchGaps gaps_;
};

TEST_F(ThroughputWithGaps, SerialExecutionHidesGaps) {
  EXPECT_DOUBLE_EQ(serial_throughput(schedule_, gaps_, device_), (500 + 700) / 1000.0);
  device_.delays.launch = Duration(500);
  EXPECT_DOUBLE_EQ(serial_throughput(schedule_, gaps_, device_), (900 + 1000) / 1000.0)
      << "no more than the launches of others take";
}

TEST_F(ThroughputWithGaps, CoRunningKeepsGaps) {
  EXPECT_DOUBLE_EQ(co_run_throughput(schedule_, {0.5, 0.5}, gaps_, device_), 500 / 900.0 + 700 / 1300.0);
}

TEST_F(ThroughputWithGaps, MeasuredSpeedsHaveTheGapsInThem) {
  EXPECT_DOUBLE_EQ(measured_throughput(schedule_, {0.5, 0.5}, gaps_, device_), 0.5 * 500 / 400 + 0.5 * 700 / 600);
}

TEST_F(ThroughputWithGaps, WeightsAreOneInTheMean) {
  schedule_.slots[0].contender.weight = 3;
  EXPECT_DOUBLE_EQ(serial_throughput(schedule_, gaps_, device_), (1.5 * 500 + 0.5 * 700) / 1000.0);
}

}  // namespace
}  // namespace gpushare
