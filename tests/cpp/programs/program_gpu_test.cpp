// SPDX-License-Identifier: Apache-2.0
#include "programs/program_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <thread>

#include "core/model/errors.hpp"
#include "core/policies/registry.hpp"
#include "programs/page_keeper.hpp"
#include "programs/program_port.hpp"
#include "programs/worker_words.hpp"
#include "programs/written_program.hpp"

namespace gpushare::programs {
namespace {

using namespace std::chrono_literals;
using daemon::FileDescriptor;
using daemon::SharedMemory;

Plan plan_of(std::initializer_list<OperationId> launches) {
  Plan plan;
  for (const OperationId launch : launches) plan.shares.push_back({.launch = launch, .quota = Quota::everywhere(1)});
  return plan;
}

class ProgramGpuTest : public testing::Test {
 protected:
  explicit ProgramGpuTest(Duration idle_after = ProgramGpuSettings{}.idle_after,
                          Duration longest_pause = ProgramGpuSettings{}.longest_pause)
      : gpu(program_device("programs"), programs,
            {.idle_after = idle_after,
             .longest_pause = longest_pause,
             .drain_patience = 1h,
             .limited_for = limited_for}) {
    programs->add(one.program);
    programs->add(two.program);
  }

  void submit(WrittenProgram& of, int id, const ProgramGpuSettings& settings = {}) {
    codes.push_back(std::make_unique<PieceCode>(of.program));
    operations.push_back(std::make_unique<Operation>(piece_of("program", *of.program, settings)));
    gpu.submit({.id = OperationId{id},
                .application = ApplicationId{id},
                .operation = operations.back().get(),
                .code = codes.back().get()});
  }

  void launch_both(Duration work) {
    one.launch(work);
    two.launch(work);
    submit(one, 0);
    submit(two, 1);
  }

  std::vector<EventKind> events_within(Duration time) {
    std::vector<EventKind> kinds;
    const Time deadline = gpu.now() + time;
    while (true) {  // it may be woken meanwhile
      const auto event = gpu.next_event(deadline);
      if (event) kinds.push_back(event->kind);
      if (!event && gpu.now() >= deadline) return kinds;
    }
  }

  /// What comes until such an event does, some time.
  std::vector<EventKind> events_until(EventKind kind) {
    std::vector<EventKind> kinds;
    const Time latest = gpu.now() + 20s;
    while (gpu.now() < latest && (kinds.empty() || kinds.back() != kind)) {
      if (const auto event = gpu.next_event(gpu.now() + 1ms)) kinds.push_back(event->kind);
    }
    return kinds;
  }

  std::shared_ptr<Programs> programs = std::make_shared<Programs>();
  WrittenProgram one;
  WrittenProgram two;
  std::vector<std::unique_ptr<PieceCode>> codes;
  std::vector<std::unique_ptr<Operation>> operations;
  static constexpr Duration limited_for = 200ms;
  ProgramGpu gpu;
};

TEST_F(ProgramGpuTest, HoldsTheProgramThatThePlanLeavesOut) {
  launch_both(10ms);
  gpu.apply(plan_of({OperationId{0}}));
  EXPECT_EQ(one.lease().state, LeaseState::Limited);
  EXPECT_EQ(two.lease().state, LeaseState::Held);
}

TEST_F(ProgramGpuTest, LetsTheOtherGoOnceWhatTheHeldOneHadUnderWayHasEnded) {
  launch_both(1h);
  gpu.apply(plan_of({OperationId{0}}));
  events_within(1ms);
  gpu.apply(plan_of({OperationId{1}}));
  EXPECT_EQ(one.lease().state, LeaseState::Held);
  EXPECT_EQ(two.lease().state, LeaseState::Held);
  events_within(1ms);
  EXPECT_EQ(two.lease().state, LeaseState::Held);
  one.end(1h);
  events_within(1ms);
  EXPECT_EQ(two.lease().state, LeaseState::Limited);
}

TEST_F(ProgramGpuTest, LetsTheOtherGoOnceAHeldKernelIsEvicted) {
  launch_both(1h);
  one.page().processes[0].waiting = 1;  // for the end of the kernel
  gpu.apply(plan_of({OperationId{0}}));
  events_within(1ms);
  EXPECT_TRUE(may_workers_go(one.page().workers));
  gpu.apply(plan_of({OperationId{1}}));
  EXPECT_FALSE(may_workers_go(one.page().workers));
  EXPECT_EQ(one.page().workers.orders[0].load() & 0xffff, 0u);
  events_within(1ms);
  EXPECT_EQ(two.lease().state, LeaseState::Held);
  one.page().processes[0].progress[0].stopped = 7;
  events_within(1ms);
  EXPECT_EQ(two.lease().state, LeaseState::Limited);
}

TEST_F(ProgramGpuTest, AProgramThatContinuesWithAnEvictedKernelIsNotIdle) {
  one.launch(20ms);
  submit(one, 0);
  two.launch(1ms);
  submit(two, 1);
  gpu.apply(plan_of({OperationId{0}}));
  events_within(1ms);
  gpu.apply(plan_of({OperationId{1}}));
  one.page().processes[0].progress[0].stopped = 7;
  events_within(30ms);
  gpu.apply(plan_of({OperationId{0}}));
  one.page().processes[0].progress[0].stopped = 0;
  EXPECT_TRUE(may_workers_go(one.page().workers));
  EXPECT_EQ(one.page().workers.orders[0].load() & 0xffff, 0xffffu);
  EXPECT_THAT(events_within(5ms), testing::Not(testing::Contains(EventKind::LaunchEnded)));
}

TEST_F(ProgramGpuTest, AHoldGoesOnFromOnePieceOfAProgramToTheNext) {
  launch_both(1h);
  const auto run_only = [&](WrittenProgram& runs, WrittenProgram& waits, int id) {
    gpu.apply(plan_of({OperationId{id}}));
    runs.page().processes[0].progress[0].stopped = 0;
    waits.page().processes[0].progress[0].stopped = 7;  // each hold ends the blocks of a piece that are resident
    return events_within(1ms);
  };
  std::vector<EventKind> kinds;
  for (int turn = 0; turn < 100 && std::ranges::count(kinds, EventKind::LaunchEnded) == 0; ++turn) {
    run_only(one, two, 0);
    kinds = run_only(two, one, 1);
    EXPECT_TRUE(one.program->is_held());
  }
  EXPECT_EQ(std::ranges::count(kinds, EventKind::LaunchEnded), 1);
  submit(one, 2);
  run_only(one, two, 2);
  EXPECT_FALSE(one.program->is_held());
}

TEST_F(ProgramGpuTest, WorkersThatTheLongestHoldHasLetGoAreHeldAgainByTheNextHoldAlone) {
  launch_both(1h);
  gpu.apply(plan_of({OperationId{1}}));
  EXPECT_FALSE(may_workers_go(one.page().workers));
  let_workers_go(one.page().workers);
  events_within(1ms);
  EXPECT_TRUE(may_workers_go(one.page().workers));
  programs->remove(two.program);
  gpu.apply(plan_of({OperationId{0}}));
  EXPECT_TRUE(may_workers_go(one.page().workers));
}

TEST_F(ProgramGpuTest, LetsWorkersGoWhereTheSchedulerOrTheServerIsGone) {
  launch_both(1h);
  gpu.apply(plan_of({OperationId{1}}));
  EXPECT_FALSE(may_workers_go(one.page().workers));
  programs->remove(one.program);
  EXPECT_TRUE(may_workers_go(one.page().workers));
  hold_workers(one.page().workers);
  one.keeper().free_program();
  EXPECT_TRUE(may_workers_go(one.page().workers));
}

TEST_F(ProgramGpuTest, LetsBothGoWhereThePlanDividesTheSms) {
  launch_both(10ms);
  const Quota first_half = Quota::per_sm({1, 1, 1, 1, 0, 0, 0, 0});
  const Quota second_half = Quota::per_sm({0, 0, 0, 0, 1, 1, 1, 1});
  gpu.apply(
      {.shares = {{.launch = OperationId{0}, .quota = first_half}, {.launch = OperationId{1}, .quota = second_half}}});
  EXPECT_EQ(one.lease(), Lease{});
  EXPECT_EQ(two.lease(), Lease{});
}

TEST_F(ProgramGpuTest, EndsABlockForEveryMillisecondOfWork) {
  one.launch(30ms);
  submit(one, 0);
  gpu.apply(plan_of({OperationId{0}}));
  EXPECT_EQ(std::ranges::count(events_within(1ms), EventKind::BlockStarted), gpu.device().sms);
  one.end(3ms);
  const auto kinds = events_within(1ms);
  EXPECT_EQ(std::ranges::count(kinds, EventKind::BlockEnded), 3);
  EXPECT_EQ(std::ranges::count(kinds, EventKind::BlockStarted), 3);
}

TEST_F(ProgramGpuTest, EndsThePieceWhenTheProgramPauses) {
  one.launch(2ms);
  submit(one, 0);
  gpu.apply(plan_of({OperationId{0}}));
  events_within(1ms);
  one.end(2ms);
  const auto kinds = events_until(EventKind::LaunchEnded);
  ASSERT_FALSE(kinds.empty());
  EXPECT_EQ(kinds.back(), EventKind::LaunchEnded);
  EXPECT_FALSE(one.program->is_busy());
  EXPECT_TRUE(gpu.is_idle());
}

class PatientProgramGpuTest : public ProgramGpuTest {
 protected:
  static constexpr Duration idle_after = 100ms;
  PatientProgramGpuTest() : ProgramGpuTest(idle_after) {}
};

TEST_F(PatientProgramGpuTest, GivesAProgramThatIsLetGoAMomentToLaunchAgain) {
  launch_both(2ms);
  gpu.apply(plan_of({OperationId{0}}));
  one.end(2ms);
  two.end(2ms);
  events_until(EventKind::LaunchEnded);
  events_within(idle_after);
  gpu.apply(plan_of({OperationId{1}}));
  EXPECT_THAT(events_within(0ms), testing::Not(testing::Contains(EventKind::LaunchEnded)));
  EXPECT_THAT(events_until(EventKind::LaunchEnded), testing::Contains(EventKind::LaunchEnded));
}

/// The first program's priority is above that of the second.
class UnequalProgramGpuTest : public ProgramGpuTest {
 protected:
  UnequalProgramGpuTest() : ProgramGpuTest(ProgramGpuSettings{}.idle_after, 1h) {
    programs->remove(one.program);
    one.program = one.with_application(application);
    programs->add(one.program);
  }

  /// For no time at all, each within a piece that goes on.
  void pause_shortly(int times) {
    one.launch(1ms);
    submit(one, 0);
    gpu.apply(plan_of({OperationId{0}}));
    for (int i = 0; i < times; ++i) {
      const Time now = gpu.now();
      one.end(1ms);
      one.program->pauses().begin(now);
      one.launch(1ms);
      one.program->pauses().end(now, Duration(one.page().processes[0].progress[0].launched.load()), 1h);
    }
  }

  Session session{program_live_device(program_device("others"), std::make_shared<Programs>()),
                  [](const std::shared_ptr<const void>& /*world*/) { return make_policy("auto"); }};
  std::shared_ptr<daemon::SessionApplication> application =
      std::make_shared<daemon::SessionApplication>(session, Application{.name = "first", .priority = 1});
};

TEST_F(UnequalProgramGpuTest, LetsOthersWaitThroughPausesThatMostlyAreShort) {
  pause_shortly(50);
  one.end(1ms);
  EXPECT_THAT(events_within(30ms), testing::Not(testing::Contains(EventKind::LaunchEnded)));
  programs->remove(two.program);  // then none waits
  EXPECT_THAT(events_until(EventKind::LaunchEnded), testing::Contains(EventKind::LaunchEnded));
}

TEST_F(UnequalProgramGpuTest, LetsOthersGoAtOnceWhereItsPausesAreNotKnown) {
  pause_shortly(1);
  one.end(1ms);
  EXPECT_THAT(events_until(EventKind::LaunchEnded), testing::Contains(EventKind::LaunchEnded));
}

TEST_F(UnequalProgramGpuTest, LetsOthersGoWhenItsPriorityIsTakenFromItInAPause) {
  pause_shortly(50);
  one.end(1ms);
  events_within(1ms);
  application->set_priority(0);
  EXPECT_THAT(events_until(EventKind::LaunchEnded), testing::Contains(EventKind::LaunchEnded));
}

TEST_F(UnequalProgramGpuTest, LetsOthersGoWhereItPausesForLongerThanItWorks) {
  pause_shortly(50);
  Duration work = 1ms;
  for (int step = 0; step < 100 && !gpu.is_idle(); ++step) {
    one.end(std::exchange(work, 10us));
    events_within(2ms);
    one.launch(work);
  }
  EXPECT_TRUE(gpu.is_idle());
}

TEST_F(UnequalProgramGpuTest, KnowsItsPausesBetweenPieces) {
  constexpr Duration work = 60ms;  // longer than the pauses
  one.launch(work);
  submit(one, 0);
  gpu.apply(plan_of({OperationId{0}}));
  for (int step = 0; step < 50; ++step) {
    events_within(step == 0 ? 0ms : 1ms);
    one.end(work);
    events_within(2ms);
    one.launch(work);
    if (gpu.is_idle()) {
      submit(one, step + 1);
      gpu.apply(plan_of({OperationId{step + 1}}));
    }
  }
  EXPECT_TRUE(one.program->pauses().are_to_be_waited_through());
}

TEST_F(ProgramGpuTest, TakesWhatNoMarkTellsForEndedWhenItShouldHave) {
  one.launch(100us);
  submit(one, 0);
  gpu.apply(plan_of({OperationId{0}}));
  const auto kinds = events_until(EventKind::LaunchEnded);
  ASSERT_FALSE(kinds.empty());
  EXPECT_EQ(kinds.back(), EventKind::LaunchEnded);
}

TEST_F(ProgramGpuTest, DoesNotEndAPieceWhileWorkIsUnderWay) {
  one.launch(1h);
  submit(one, 0);
  gpu.apply(plan_of({OperationId{0}}));
  EXPECT_THAT(events_within(20ms), testing::Not(testing::Contains(EventKind::LaunchEnded)));
}

TEST_F(ProgramGpuTest, DoesNotTakeWhatAThreadWaitsForForEnded) {
  one.launch(100us);
  one.page().processes[0].waiting = 1;
  submit(one, 0);
  gpu.apply(plan_of({OperationId{0}}));
  EXPECT_THAT(events_within(20ms), testing::Not(testing::Contains(EventKind::LaunchEnded)));
  one.page().processes[0].waiting = 0;
  EXPECT_THAT(events_until(EventKind::LaunchEnded), testing::Contains(EventKind::LaunchEnded));
}

TEST_F(ProgramGpuTest, EndsAWithdrawnPieceAtOnce) {
  one.launch(1h);
  submit(one, 0);
  gpu.apply(plan_of({OperationId{0}}));
  events_within(1ms);
  gpu.withdraw(OperationId{0});
  EXPECT_THAT(events_within(1ms), testing::Contains(EventKind::LaunchEnded));
  EXPECT_TRUE(gpu.is_idle());
}

TEST_F(ProgramGpuTest, FreesEveryProgramWhenItStops) {
  launch_both(10ms);
  gpu.apply(plan_of({OperationId{0}}));
  gpu.stop({});
  EXPECT_EQ(two.lease(), Lease{});
}

TEST_F(ProgramGpuTest, LetsProgramsThatLeaveTheGpuIdleRunTogether) {
  for (int noted = 0; noted < 40; ++noted) one.program->note_busy(3ms, 10ms, true);
  for (int noted = 0; noted < 40; ++noted) two.program->note_busy(4ms, 10ms, true);
  launch_both(10ms);
  gpu.apply(plan_of({OperationId{0}, OperationId{1}}));
  EXPECT_EQ(one.lease(), Lease{});
  EXPECT_EQ(two.lease(), Lease{});
}

TEST_F(ProgramGpuTest, LimitsProgramsForAWhileAfterOneWasHeld) {
  launch_both(10ms);
  gpu.apply(plan_of({OperationId{0}}));
  const Quota first_half = Quota::per_sm({1, 1, 1, 1, 0, 0, 0, 0});
  const Quota second_half = Quota::per_sm({0, 0, 0, 0, 1, 1, 1, 1});
  const Plan both{
      .shares = {{.launch = OperationId{0}, .quota = first_half}, {.launch = OperationId{1}, .quota = second_half}}};
  gpu.apply(both);
  EXPECT_EQ(one.lease().state, LeaseState::Limited);
  EXPECT_EQ(two.lease().state, LeaseState::Limited);
  events_within(limited_for);
  gpu.apply(both);
  EXPECT_EQ(one.lease(), Lease{});
  EXPECT_EQ(two.lease(), Lease{});
}

TEST(ProgramsKernels, TimeOfABlockIsThatOfTheWorkDoneLately) {
  WrittenProgram written;
  const auto run = [&](Duration kernel, Duration block, int count) {
    written.page().processes[0].block_times +=
        static_cast<std::uint64_t>(count * (kernel.count() >> 10) * block.count());
    written.launch(kernel * count);
    written.program->poll();
    return nanoseconds(written.program->usual_block());
  };
  EXPECT_EQ(run(2ms, 2ms, 5), 0) << "that is little work";
  EXPECT_NEAR(run(2ms, 2ms, 10), 2e6, 2e4);
  EXPECT_NEAR(run(30ms, 0ms, 1), 1e6, 2e4) << "of a graph nothing is known";
  double found = 0;
  for (int time = 0; time < 100; ++time) found = run(1ms, 20us, 10);
  EXPECT_NEAR(found, 2e4, 2e3);
}

TEST(ProgramsAtOnce, TakeAPartOfEachSmHoweverBusyTheyAre) {
  const WrittenProgram busy;
  const Launch alone = piece_of("program", *busy.program, {});
  const Launch beside = piece_of("program", *busy.program, ProgramGpuSettings::under_mps());
  const Device device = program_device("programs");
  EXPECT_EQ(alone.kernel.needs.threads, device.per_sm.threads);
  EXPECT_LE(beside.kernel.needs.threads * device.per_sm.blocks, device.per_sm.threads);
}

TEST_F(ProgramGpuTest, EndsAPieceThatPoliciesTakeForOneOfOtherKernels) {
  one.page().processes[0].waiting = 1;  // so that nothing counts as ended because it should have
  one.launch(10ms);
  submit(one, 0, ProgramGpuSettings::under_mps());
  gpu.apply(plan_of({OperationId{0}}));
  EXPECT_THAT(events_within(2ms), testing::Not(testing::Contains(EventKind::LaunchEnded)));
  one.page().processes[0].block_times += 20ull * (2'000'000 >> 10) * 2'000'000;
  one.launch(40ms);
  EXPECT_THAT(events_until(EventKind::LaunchEnded), testing::Contains(EventKind::LaunchEnded));
  ASSERT_TRUE(one.program->is_busy()) << "so that the next piece comes at once";
  submit(one, 1, ProgramGpuSettings::under_mps());
  gpu.apply(plan_of({OperationId{1}}));
  EXPECT_THAT(events_within(10ms), testing::Not(testing::Contains(EventKind::LaunchEnded)));
}

TEST(ProgramsAtOnce, AreNeitherHeldNorLimitedUnderAuto) {
  const auto programs = std::make_shared<Programs>();
  const ProgramGpuSettings settings = ProgramGpuSettings::under_mps();
  Session session(program_live_device(program_device("programs"), programs, settings),
                  [](const std::shared_ptr<const void>& /*world*/) { return make_policy("auto"); },
                  {.keeps_record = false});
  WrittenProgram written[2];
  std::vector<std::unique_ptr<ProgramPort>> ports;
  for (WrittenProgram& each : written) {
    auto application = std::make_shared<daemon::SessionApplication>(session, Application{.name = "program"});
    ports.push_back(std::make_unique<ProgramPort>(session, std::move(application), programs, each.program, settings));
    each.launch(1h);
    wake_all(each.page().is_known_busy);
  }
  std::set<std::uint32_t> leases;
  std::vector<ApplicationStatus> seen;
  auto last = std::chrono::steady_clock::now();
  const auto ends = last + 10s;
  for (int running = 0; running < 100 && last < ends;) {
    std::this_thread::sleep_for(1ms);
    const auto now = std::chrono::steady_clock::now();
    const Duration passed = now - std::exchange(last, now);
    for (WrittenProgram& each : written) {
      each.end(passed / 2);
      leases.insert(each.lease().word());
    }
    seen = session.status().applications;
    const auto runs = [](const ApplicationStatus& each) { return each.state == "running" && each.done > 8; };
    if (seen.size() == 2 && std::ranges::all_of(seen, runs)) ++running;
  }
  EXPECT_THAT(seen, testing::Each(testing::Field(&ApplicationStatus::state, "running")));
  EXPECT_THAT(leases, testing::ElementsAre(Lease{}.word()));
}

TEST_F(ProgramGpuTest, HoldsTheSecondInRankWhereBothKeepTheGpuBusy) {
  for (int noted = 0; noted < 40; ++noted) one.program->note_busy(3ms, 10ms, true);
  launch_both(10ms);
  gpu.apply(plan_of({OperationId{0}, OperationId{1}}));
  EXPECT_EQ(two.lease().state, LeaseState::Held);
}

TEST(Program, IsNotTakenForIdlerForWhatItDidBesideAnother) {
  WrittenProgram written;
  written.program->note_busy(1ms, 10ms, false);
  EXPECT_EQ(written.program->busy_ratio(), 1);
  written.program->note_busy(1ms, 10ms, true);
  EXPECT_LT(written.program->busy_ratio(), 1);
}

TEST_F(ProgramGpuTest, RefusesWhatIsNoProgram) {
  const Operation launch = piece_of("kernel", *one.program, {});
  EXPECT_THROW(gpu.submit({.id = OperationId{0}, .operation = &launch}), InvalidInput);
}

TEST(Program, ForgetsNoWorkOfAProcessThatHasEnded) {
  WrittenProgram written;
  written.launch(3ms);
  EXPECT_EQ(written.program->poll().launched, 3ms);
  written.page().processes[0].pid = 0;
  EXPECT_EQ(written.program->poll().under_way, 0ns);
  written.page().processes[0].pid = 1;
  written.page().processes[0].progress[0].launched = 1'000'000;
  EXPECT_EQ(written.program->poll().launched, 4ms);
}

TEST(Program, BelievesNoMoreThanAnHourAtOnce) {
  WrittenProgram written;
  written.page().processes[0].progress[0].launched = ~0ull;
  written.page().processes[0].streams = ~0u;
  EXPECT_LE(written.program->poll().launched, 1h);
}

TEST(Program, NoticesALaunchThatComesWhileItIsDeclaredIdle) {
  WrittenProgram written;
  written.launch(1ms);
  written.program->poll();
  EXPECT_FALSE(written.program->is_busy_after_all());
  EXPECT_FALSE(written.program->is_busy());
  written.launch(1ms);
  EXPECT_TRUE(written.program->is_busy_after_all());
  EXPECT_TRUE(written.program->is_busy());
}

TEST(Program, StaysFreeOnceItIsReleased) {
  WrittenProgram written;
  written.program->set_lease({LeaseState::Held});
  written.program->release();
  EXPECT_EQ(written.lease(), Lease{});
  written.program->set_lease({LeaseState::Held});
  EXPECT_EQ(written.lease(), Lease{});
}

TEST(Program, CountsWhatNoMarkTellsPerStream) {
  WrittenProgram written;
  auto& slot = written.page().processes[0];
  slot.streams = 6;
  for (auto& progress : slot.progress) progress.launched = 150'000;
  EXPECT_EQ(written.program->poll().beyond_marks, 0ns);
  slot.progress[0].launched = 1'000'000;
  EXPECT_EQ(written.program->poll().beyond_marks, 750us);
}

TEST(Program, RefusesAPageOfAnotherSizeOrWithoutItsMark) {
  EXPECT_THROW(Program(SharedMemory::create("page", 4096)), InvalidInput);
  EXPECT_THROW(Program(SharedMemory::create("page", sizeof(ProgramPage))), InvalidInput);
}

TEST(PageKeeper, GivesBackThePlacesOfProcessesThatWereKilled) {
  PageKeeper keeper(0, 1);
  SharedMemory memory = SharedMemory::map(FileDescriptor::duplicate(keeper.descriptor()), sizeof(ProgramPage));
  auto& page = *reinterpret_cast<ProgramPage*>(memory.bytes().data());
  page.processes[3].pid = 0x7ffffffe;  // above the largest number of a process
  page.processes[3].memory_bytes = 100;
  page.processes[4].pid = ::getpid();
  page.processes[4].memory_bytes = 7;
  keeper.release_dead();
  EXPECT_THAT(keeper.processes(), testing::ElementsAre(::getpid()));
  EXPECT_EQ(keeper.memory_bytes(), 7);
}

TEST(PageKeeper, TakesAProcessThatItsParentHasNotAskedForForDead) {
  PageKeeper keeper(0, 1);
  SharedMemory memory = SharedMemory::map(FileDescriptor::duplicate(keeper.descriptor()), sizeof(ProgramPage));
  auto& slot = reinterpret_cast<ProgramPage*>(memory.bytes().data())->processes[0];
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  slot.pid = child;
  slot.waiting = 1;
  keeper.release_dead();
  EXPECT_TRUE(keeper.processes().empty());
  EXPECT_EQ(slot.waiting, 0);
  ::waitpid(child, nullptr, 0);
}

TEST(PageKeeper, ReadsNamesThatHaveNoEnd) {
  PageKeeper keeper(0, 1);
  SharedMemory memory = SharedMemory::map(FileDescriptor::duplicate(keeper.descriptor()), sizeof(ProgramPage));
  auto& record = reinterpret_cast<ProgramPage*>(memory.bytes().data())->kernels[0];
  record.name.fill('x');
  record.library = ~0u;
  record.is_named = 1;
  ASSERT_EQ(keeper.kernels().size(), 1);
  EXPECT_EQ(keeper.kernels()[0].name.size(), most_name_bytes);
  EXPECT_EQ(keeper.kernels()[0].library, "");
}

}  // namespace
}  // namespace gpushare::programs
