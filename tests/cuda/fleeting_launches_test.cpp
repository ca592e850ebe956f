// SPDX-License-Identifier: Apache-2.0
// Launches whose blocks all begin at once, and are over before an order could reach them, run as they were written.
#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <thread>

#include "core/workers/rank_room.hpp"
#include "cuda/whole_launch.hpp"
#include "telling_launches.hpp"
#include "trace_promises.hpp"

namespace gpushare::cuda::test {
namespace {

using testing::IsEmpty;

constexpr unsigned all_at_once = 8;
constexpr Duration some_us(20'000);

class FleetingLaunches : public TellingLaunches {
 protected:
  FleetingLaunches() { let_win(LaunchWay::Workers); }  // which is no reason

  /// Once more, when it is known how long blocks take.
  Trace run_again_under(const std::string& policy) {
    run_under(policy);
    resources->fleeting = Duration(1'000'000'000);
    return run_under(policy);
  }

  void know_block_time(Duration block_time) {
    resources->fleeting = some_us;
    resources->block_times[kernel->id()] = block_time;
  }
  Submission first_submission() const { return {.operation = &work.workload.applications.front().operations.front()}; }
  const DeviceLaunch& first_launch() const { return std::get<DeviceLaunch>(work.program.front()); }
  int residency() const { return residency_of(resources->device, first_submission()); }

  /// Of the first launch, under a plan that gives it all SMs.
  std::unique_ptr<LaunchOnGpu> whole() {
    const auto launch = make_launch(*resources, first_submission(), first_launch());
    launch->set_share({.quota = Quota::everywhere(residency())}, 0);
    return launch->in_other_way();
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

TEST_F(FleetingLaunches, HaveShortBlocksAndAllSms) {
  add_application("only", 1, all_at_once);
  const auto is_fleeting = [this](const std::vector<SmId>& sms) {
    return way_for_fleeting(*resources, first_launch(), residency(), sms).has_value();
  };
  const std::vector<SmId> all{SmId{0}, SmId{1}, SmId{2}, SmId{3}};
  EXPECT_FALSE(is_fleeting(all));  // nobody knows
  know_block_time(some_us);
  EXPECT_TRUE(is_fleeting(all));
  EXPECT_FALSE(is_fleeting({SmId{0}, SmId{1}}));
  know_block_time(some_us + Duration(1));
  EXPECT_FALSE(is_fleeting(all));
}

TEST_F(FleetingLaunches, AreWorkersAgainWhereThePolicyTakesSmsAway) {
  add_application("only", 1, all_at_once);
  know_block_time(some_us);
  const auto launch = whole();
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->way(), LaunchWay::Whole);
  EXPECT_FALSE(launch->in_other_way());
  launch->set_share({.quota = Quota::per_sm({residency(), residency(), 0, 0})}, 0);
  const auto workers = launch->in_other_way();
  ASSERT_TRUE(workers);
  EXPECT_EQ(workers->way(), LaunchWay::Workers);
  EXPECT_THAT(workers->wanted(), testing::ElementsAre(residency(), residency(), 0, 0));
  EXPECT_FALSE(workers->in_other_way());
}

TEST_F(FleetingLaunches, HaveRoomMadeForThem) {
  add_application("only", 1, all_at_once);
  know_block_time(some_us);
  const auto launch = whole();
  ASSERT_TRUE(launch);
  EXPECT_TRUE(launch->claim().is_seen);
  RoomClaim behind = launch->claim();
  behind.present = behind.wanted;
  behind.unclaimed = 100'000;
  const std::vector<Allowance> allowed = make_room(resources->device, std::vector{launch->claim(), behind});
  EXPECT_THAT(allowed[1].workers, testing::Contains(testing::Lt(residency())));
}

/// As many blocks go on as *gate says, in the order in which they came.
std::string wait_in_line_at_gate() {
  std::string source = wait_at_gate;
  const std::string is_open = "setp.ne.u32 %p, %r1, 0;";
  return source.replace(source.find(is_open), is_open.size(), "setp.gt.u32 %p, %r1, %r2;");
}

/// Where workers leave soon, though there may be room beside them.
TEST_F(FleetingLaunches, HaveAnSmToThemselves) {
  const auto waits = load("wait_at_gate", wait_in_line_at_gate());
  const DeviceMemory gate = array(std::vector{0});
  const DeviceMemory arrived = array(std::vector{0});
  work.add_application("long");
  work.add_launch(waits, 10'000, 1, arguments(gate.get(), arrived.get(), for_ever));
  add_application("small", 1, 1);
  know_block_time(some_us);
  resources->fleeting = Duration(1'000'000'000);  // however busy this machine is, it is not overdue while it waits
  resources->block_times[waits->id()] = some_us;
  CudaGpu gpu(*resources, work.program);
  const auto submit = [&](int id) {
    const Operation& launch = work.workload.applications[static_cast<std::size_t>(id)].operations.front();
    gpu.submit({.id = OperationId{id}, .application = ApplicationId{id}, .operation = &launch});
  };
  const auto look = [&] { return gpu.next_event(gpu.now() + Duration(100'000)); };
  const auto wait_for_end_of = [&](OperationId launch) {
    auto event = look();
    while (!event || event->kind != EventKind::LaunchEnded || event->operation != launch) event = look();
  };
  constexpr int workers = 4;
  const int first_wave = workers * resources->device.sms;
  const Share of_long{OperationId{0}, Quota::everywhere(workers)};
  submit(0);
  gpu.apply({.shares = {of_long}});
  for (int seen = 0; seen < first_wave;) {  // which SM is emptied depends on who is known to be where
    const auto event = look();
    if (event && event->kind == EventKind::BlockStarted) seen += event->blocks;
  }
  submit(1);
  gpu.apply({.shares = {{OperationId{1}, Quota::everywhere(residency())}, of_long}});
  for (int time = 0; time < 10; ++time) look();
  write(gate, first_wave);
  while (values<int>(places.front().front(), 1) == std::vector{-1}) std::this_thread::yield();  // before anybody looks
  wait_for_end_of(OperationId{1});
  write(gate, 1'000'000);
  wait_for_end_of(OperationId{0});
  EXPECT_THAT(whole_launches(0, 1), testing::ElementsAre(std::set{3}));
}

TEST_F(FleetingLaunches, AreDoubtedOnceOneTookLong) {
  const auto waits = load("wait_at_gate", wait_at_gate);
  const DeviceMemory gate = array(std::vector{0});
  const DeviceMemory arrived = array(std::vector{0});
  work.add_application("only");
  work.add_launch(waits, all_at_once, 32, arguments(gate.get(), arrived.get(), some_ms));
  resources->fleeting = some_us;
  resources->block_times[waits->id()] = Duration(1);
  run_under("fifo");
  EXPECT_TRUE(resources->doubtful.contains(waits->id()));
  EXPECT_EQ(*resources->block_times.peek(waits->id()), Duration(1));
  EXPECT_FALSE(way_for_short(*resources, first_launch(), residency(), {SmId{0}, SmId{1}, SmId{2}, SmId{3}}, some_us));
  resources->fleeting = Duration(1'000'000'000);  // however busy this machine is, the next one ends within that
  run_under("fifo");                              // as workers, which are measured
  EXPECT_FALSE(resources->doubtful.contains(waits->id()));
  EXPECT_GT(*resources->block_times.peek(waits->id()), some_us);
}

TEST_F(FleetingLaunches, SayNothingOfWhichWayIsFaster) {
  add_application("only", 6, all_at_once);
  constexpr double never = std::numeric_limits<double>::infinity();
  resources->paces = LaunchPaces(never, never);  // workers win as soon as the other way is known
  for (int time = 0; time < 4; ++time) resources->paces.add(kernel->id(), 4, LaunchWay::Workers, Duration(1), 1);
  resources->block_times[kernel->id()] = Duration(1);
  resources->fleeting = Duration(1'000'000'000);
  run_under("fifo");
  EXPECT_EQ(whole_launches(0, all_at_once).size(), 6u);
  EXPECT_TRUE(resources->paces.may_run_whole(kernel->id(), 4));
}

TEST_F(FleetingLaunches, AreNotLostWhereTheyWereAdmittedInAQuietMoment) {
  add_application("only", 1, all_at_once);
  know_block_time(some_us);
  CudaGpu gpu(*resources, work.program);
  std::atomic<bool> is_quiet = false;
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    const Quiet quiet = context->quiet_moments().ask();
    is_quiet = true;
    while (!is_over) std::this_thread::yield();
  });
  while (!is_quiet) std::this_thread::yield();
  gpu.submit(first_submission());
  gpu.admit(OperationId{0});
  is_over = true;
  const Time end = gpu.now() + Duration(5'000'000'000);
  bool has_ended = false;
  while (!has_ended && gpu.now() < end) {
    const auto event = gpu.next_event(gpu.now() + Duration(1'000'000));
    has_ended = event && event->kind == EventKind::LaunchEnded;
  }
  EXPECT_TRUE(has_ended);
  EXPECT_EQ(whole_launches(0, all_at_once).size(), 1u);
  other.join();
}

}  // namespace
}  // namespace gpushare::cuda::test
