// SPDX-License-Identifier: Apache-2.0
// Launches whose blocks all begin at once, and are over before an order could reach them, run as they were written.
#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <thread>

#include "core/residency/arbitrate.hpp"
#include "cuda/launch/original_launch.hpp"
#include "telling_launches.hpp"
#include "trace_promises.hpp"

namespace gpushare::cuda::test {
namespace {

using testing::IsEmpty;

constexpr unsigned all_at_once = 8;
constexpr Duration some_us(20'000);

class BriefLaunches : public TellingLaunches {
 protected:
  BriefLaunches() { let_win(ExecutionMode::Worker); }  // which is no reason

  /// Once more, when it is known how long blocks take.
  Trace run_again_under(const std::string& policy) {
    run_under(policy);
    resources->mode_limits.brief = Duration(1'000'000'000);
    return run_under(policy);
  }

  void know_block_time(Duration block_time) {
    resources->mode_limits.brief = some_us;
    resources->history.set_block_time(kernel->id(), block_time);
  }
  Submission first_submission() const { return {.operation = &work.workload.applications.front().operations.front()}; }
  const DeviceLaunch& first_launch() const { return std::get<DeviceLaunch>(work.program.front()); }
  int residency() const {
    const auto& launch = std::get<Launch>(*first_submission().operation);
    return max_residency(resources->device, launch.kernel.needs);
  }

  /// Of the first launch, under a plan that gives it all SMs.
  std::unique_ptr<GpuLaunch> original() {
    const auto launch = factory.make(first_submission());
    launch->set_share({.quota = Quota::everywhere(residency())}, 0);
    return in_better_mode(*launch);
  }
  std::unique_ptr<GpuLaunch> in_better_mode(const GpuLaunch& launch) {
    std::unique_ptr<GpuLaunch> other = factory.in_better_mode(launch);
    if (other) other->set_share(launch.share());
    return other;
  }

  LaunchFactory factory{*resources, work.program};
};

TEST_F(BriefLaunches, RunWholeWithoutBeingAsked) {
  add_application("only", 6, all_at_once);
  run_under("fifo");
  EXPECT_THAT(whole_launches(0, all_at_once), IsEmpty());
  const Trace trace = run_again_under("fifo");
  EXPECT_EQ(whole_launches(0, all_at_once).size(), 6u);
  gpushare::test::expect_streams_in_order(trace, work.workload);
}

TEST_F(BriefLaunches, HaveBlocksThatWaitForNoOthers) {
  add_application("only", 6, blocks);
  run_again_under("fifo");
  EXPECT_THAT(whole_launches(), IsEmpty());
}

TEST_F(BriefLaunches, HaveShortBlocksAndAllSms) {
  add_application("only", 1, all_at_once);
  const auto is_brief = [this](const std::vector<SmId>& sms) {
    return setup_for(first_launch(), residency(), sms).has_value();
  };
  const std::vector<SmId> all{SmId{0}, SmId{1}, SmId{2}, SmId{3}};
  EXPECT_FALSE(is_brief(all));  // not known
  know_block_time(some_us);
  EXPECT_TRUE(is_brief(all));
  EXPECT_FALSE(is_brief({SmId{0}, SmId{1}}));
  know_block_time(some_us + Duration(1));
  EXPECT_FALSE(is_brief(all));
}

TEST_F(BriefLaunches, AreWorkersAgainWhereThePolicyTakesSmsAway) {
  add_application("only", 1, all_at_once);
  know_block_time(some_us);
  const auto launch = original();
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->mode(), ExecutionMode::Original);
  EXPECT_FALSE(in_better_mode(*launch));
  launch->set_share({.quota = Quota::per_sm({residency(), residency(), 0, 0})}, 0);
  const auto workers = in_better_mode(*launch);
  ASSERT_TRUE(workers);
  EXPECT_EQ(workers->mode(), ExecutionMode::Worker);
  EXPECT_THAT(workers->share().wanted(), testing::ElementsAre(residency(), residency(), 0, 0));
  EXPECT_FALSE(in_better_mode(*workers));
}

TEST_F(BriefLaunches, AdmittedOneThatAPlanNamesIsWorkers) {
  add_application("only", 1, all_at_once);
  const auto launch = factory.make(first_submission());
  const auto admitted = factory.make_on_reserved_sms(*launch);
  EXPECT_EQ(admitted->mode(), ExecutionMode::Original);
  admitted->set_share({.quota = Quota::everywhere(1)}, 0);
  const auto workers = in_better_mode(*admitted);
  ASSERT_TRUE(workers);
  EXPECT_EQ(workers->mode(), ExecutionMode::Worker);
}

TEST_F(BriefLaunches, HaveRoomMadeForThem) {
  add_application("only", 1, all_at_once);
  know_block_time(some_us);
  const auto launch = original();
  ASSERT_TRUE(launch);
  EXPECT_TRUE(launch->request().is_seen);
  ResidencyRequest behind = launch->request();
  behind.present = behind.wanted;
  behind.unclaimed = 100'000;
  const std::vector<ResidencyGrant> allowed = arbitrate(resources->device, std::vector{launch->request(), behind});
  EXPECT_THAT(allowed[1].workers, testing::Contains(testing::Lt(residency())));
}

/// As many blocks go on as *gate says, in the order in which they came.
std::string wait_in_line_at_gate() {
  std::string source = wait_at_gate;
  const std::string is_open = "setp.ne.u32 %p, %r1, 0;";
  return source.replace(source.find(is_open), is_open.size(), "setp.gt.u32 %p, %r1, %r2;");
}

/// Where workers leave soon, though there may be room beside them.
TEST_F(BriefLaunches, HaveAnSmToThemselves) {
  const auto waits = load("wait_at_gate", wait_in_line_at_gate());
  const DeviceMemory gate = array(std::vector{0});
  const DeviceMemory arrived = array(std::vector{0});
  work.add_application("long");
  work.add_launch(waits, 10'000, 1, arguments(gate.get(), arrived.get(), for_ever));
  add_application("small", 1, 1);
  know_block_time(some_us);
  resources->mode_limits.brief =
      Duration(1'000'000'000);  // however busy this machine is, it is not overdue while it waits
  resources->history.set_block_time(waits->id(), some_us);
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
  while (values<int>(places.front().front(), 1) == std::vector{-1}) std::this_thread::yield();  // before a poll
  wait_for_end_of(OperationId{1});
  write(gate, 1'000'000);
  wait_for_end_of(OperationId{0});
  EXPECT_THAT(whole_launches(0, 1), testing::ElementsAre(std::set{3}));
}

TEST_F(BriefLaunches, AreDoubtedOnceOneTookLong) {
  const auto waits = load("wait_at_gate", wait_at_gate);
  const DeviceMemory gate = array(std::vector{0});
  const DeviceMemory arrived = array(std::vector{0});
  work.add_application("only");
  work.add_launch(waits, all_at_once, 32, arguments(gate.get(), arrived.get(), some_ms));
  resources->mode_limits.brief = some_us;
  resources->history.set_block_time(waits->id(), Duration(1));
  run_under("fifo");
  EXPECT_TRUE(resources->history.is_mispredicted(waits->id()));
  EXPECT_EQ(*resources->history.block_time(waits->id()), Duration(1));
  EXPECT_FALSE(setup_for(first_launch(), residency(), {SmId{0}, SmId{1}, SmId{2}, SmId{3}}, some_us));
  resources->mode_limits.brief =
      Duration(1'000'000'000);  // however busy this machine is, the next one ends within that
  run_under("fifo");            // as workers, which are measured
  EXPECT_FALSE(resources->history.is_mispredicted(waits->id()));
  EXPECT_GT(*resources->history.block_time(waits->id()), some_us);
}

TEST_F(BriefLaunches, SayNothingOfWhichWayIsFaster) {
  add_application("only", 6, all_at_once);
  constexpr double never = std::numeric_limits<double>::infinity();
  resources->history = KernelHistory(never, never);  // workers win as soon as the other way is known
  for (int time = 0; time < 4; ++time) resources->history.add({kernel->id(), 4, ExecutionMode::Worker, 1}, Duration(1));
  resources->history.set_block_time(kernel->id(), Duration(1));
  resources->mode_limits.brief = Duration(1'000'000'000);
  run_under("fifo");
  EXPECT_EQ(whole_launches(0, all_at_once).size(), 6u);
  EXPECT_TRUE(resources->history.original_may_be_faster(kernel->id(), 4, true));
}

TEST_F(BriefLaunches, AreNotLostWhereTheyWereAdmittedInAQuietMoment) {
  add_application("only", 1, all_at_once);
  know_block_time(some_us);
  CudaGpu gpu(*resources, work.program);
  std::atomic<bool> is_quiet = false;
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    const Drain drain = context->drain_requests().ask();
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
