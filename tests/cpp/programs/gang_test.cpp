// SPDX-License-Identifier: Apache-2.0
#include "programs/gang.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>

#include "core/model/errors.hpp"
#include "messages.hpp"
#include "programs/program_gpu.hpp"
#include "programs/written_program.hpp"

namespace gpushare::programs {
namespace {

using namespace std::chrono_literals;
using test::message_of;

/// Memory for the schedulers of a program's GPUs.
class Board {
 public:
  GangMember member(std::size_t gpu, std::size_t gpus) const {
    return {daemon::SharedMemory::map(daemon::FileDescriptor::duplicate(memory_.descriptor()), sizeof(GangBoard)), gpu,
            gpus};
  }
  GangBoard& operator*() const { return *reinterpret_cast<GangBoard*>(memory_.bytes().data()); }

 private:
  daemon::SharedMemory memory_ = daemon::SharedMemory::create("board", sizeof(GangBoard));
};

class GangLeader : public testing::Test {
 protected:
  /// By GPU: does its scheduler lead?
  std::vector<bool> leads() const { return {first.leads(), second.leads(), third.leads()}; }

  Board board;
  GangMember first = board.member(0, 3);
  GangMember second = board.member(1, 3);
  GangMember third = board.member(2, 3);
};

TEST_F(GangLeader, IsTheFirstWhereNoOtherProgramIsThere) { EXPECT_EQ(leads(), (std::vector{true, false, false})); }

TEST_F(GangLeader, IsWhereMostProgramsHaveWork) {
  second.note({.count = 1});
  EXPECT_EQ(leads(), (std::vector{false, true, false}));
  third.note({.count = 2});
  EXPECT_EQ(leads(), (std::vector{false, false, true}));
  first.note({.count = 2});
  EXPECT_EQ(leads(), (std::vector{true, false, false}));
  first.note({});
  third.note({});
  EXPECT_EQ(leads(), (std::vector{false, true, false}));
}

TEST_F(GangLeader, IsWhereAnotherProgramHasTheHighestPriority) {
  constexpr int lowest = std::numeric_limits<int>::min();
  first.note({.count = 9, .priority = lowest});
  EXPECT_EQ(leads(), (std::vector{true, false, false}));
  second.note({.count = 1, .priority = lowest + 1});
  EXPECT_EQ(leads(), (std::vector{false, true, false}));
  third.note({.count = 1, .priority = std::numeric_limits<int>::max()});
  EXPECT_EQ(leads(), (std::vector{false, false, true}));
}

TEST_F(GangLeader, IsAnotherOnceItHasLeft) {
  third.note({.count = 1});
  third.leave();
  EXPECT_EQ(leads(), (std::vector{true, false, false}));
  first.show({.sms = 8, .threads = 1024});
  first.leave();
  EXPECT_TRUE(second.leads());
  EXPECT_EQ(third.led_elsewhere().sms, 0);
}

TEST_F(GangLeader, IsAnotherOnceItsProcessHasEnded) {
  first.show({.sms = 8, .threads = 1024});
  first.note({.count = 7});
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ::waitpid(ended, nullptr, 0);
  (*board).gpus[0].scheduler = ended;
  second.drop_ended();
  EXPECT_TRUE(second.leads());
  EXPECT_EQ(third.led_elsewhere().sms, 0);
}

TEST_F(GangLeader, ShowsTheOthersWhatTheProgramTakes) {
  first.show({.sms = 3, .threads = 1024});
  EXPECT_EQ(second.led_elsewhere().sms, 3);
  EXPECT_EQ(second.led_elsewhere().threads, 1024);
  EXPECT_EQ(first.led_elsewhere().sms, 0);
}

TEST_F(GangLeader, LimitsTheProgramWhereverPolicyHoldsPrograms) {
  const auto now = GangMember::Clock::now();
  EXPECT_FALSE(first.is_limited(now));
  second.limit_until(now + 1s);
  EXPECT_TRUE(first.is_limited(now));
  EXPECT_FALSE(first.is_limited(now + 1s));
}

TEST_F(GangLeader, ChangesWithNews) {
  const std::uint32_t before = first.news();
  third.note({.count = 1});
  EXPECT_NE(first.news(), before);
  const std::uint32_t seen = first.news();
  third.note({.count = 1});
  EXPECT_EQ(first.news(), seen) << "nothing has changed";
}

TEST(GangOfOne, LeadsAndHasNoOthers) {
  GangMember only;
  only.note({.count = 3, .priority = 7});
  only.show({.sms = 8, .threads = 1024});
  EXPECT_TRUE(only.leads());
  EXPECT_EQ(only.led_elsewhere().sms, 0);
  EXPECT_FALSE(only.is_limited(GangMember::Clock::now()));
}

TEST(GangMembers, AreSixteenAtMost) {
  const Board board;
  const auto message = [&](std::size_t gpu, std::size_t gpus) {
    return message_of<InvalidInput>([&] { board.member(gpu, gpus); });
  };
  EXPECT_THAT(message(0, most_gpus + 1), test::naming(most_gpus, most_gpus + 1));
  EXPECT_THAT(message(2, 2), test::naming(most_gpus, 2));
}

/// A GPU with a program of its own, and one that is on two GPUs.
struct SharedGpu {
  SharedGpu(const WrittenProgram& gang, GangMember place) : member(gang.in_gang(std::move(place))) {
    programs->add(own.program);
    programs->add(member);
  }

  void submit(const std::shared_ptr<Program>& program, int id) {
    codes.push_back(std::make_unique<PieceCode>(program));
    operations.push_back(std::make_unique<Operation>(piece_of("program", *program, {})));
    gpu.submit({.id = OperationId{id},
                .application = ApplicationId{id},
                .operation = operations.back().get(),
                .code = codes.back().get()});
  }
  /// One launch may run.
  std::vector<EventKind> run(int id) {
    gpu.apply({.shares = {{.launch = OperationId{id}, .quota = Quota::everywhere(1)}}});
    return events();
  }
  std::vector<EventKind> events() {
    std::vector<EventKind> kinds;
    for (const Time deadline = gpu.now() + 1ms; gpu.now() < deadline;) {
      if (const auto event = gpu.next_event(deadline)) kinds.push_back(event->kind);
    }
    return kinds;
  }

  WrittenProgram own;
  std::shared_ptr<Program> member;
  std::shared_ptr<Programs> programs = std::make_shared<Programs>();
  std::vector<std::unique_ptr<PieceCode>> codes;
  std::vector<std::unique_ptr<Operation>> operations;
  ProgramGpu gpu{program_device("programs"), programs};
};

class GangTest : public testing::Test {
 protected:
  /// Each GPU runs its own program, and the gang has work.
  GangTest() {
    for (SharedGpu* each : {&first, &second}) {
      each->own.launch(1h);
      each->submit(each->own.program, 0);
      each->run(0);
    }
    gang.launch(1h);
  }

  void run_gang_by(SharedGpu& leader) {
    leader.submit(leader.member, 1);
    leader.own.end(1h);  // of the program that is held for it
    leader.run(1);
  }

  Board board;
  WrittenProgram gang;
  SharedGpu first{gang, board.member(0, 2)};
  SharedGpu second{gang, board.member(1, 2)};
};

TEST_F(GangTest, HoldsTheProgramsOfItsOtherGpusWhileItRuns) {
  EXPECT_FALSE(second.own.program->is_held());
  run_gang_by(first);
  second.events();
  EXPECT_FALSE(first.member->is_held());
  EXPECT_TRUE(first.own.program->is_held());
  EXPECT_TRUE(second.own.program->is_held());
}

TEST_F(GangTest, LeavesItsOtherGpusToTheirProgramsWhileItIsHeld) {
  run_gang_by(first);
  second.events();
  first.run(0);
  EXPECT_TRUE(second.member->is_held());
  second.events();
  EXPECT_FALSE(second.own.program->is_held());
}

TEST_F(GangTest, LeavesThemToTheirProgramsWhileItHasNoWork) {
  run_gang_by(first);
  second.events();
  gang.end(1h);
  for (int time = 0; time < 100 && gang.page().is_known_busy != 0; ++time) first.events();
  second.events();
  EXPECT_FALSE(second.own.program->is_held());
}

TEST_F(GangTest, LeavesThemTheSmsThatItsPolicyLeavesOthers) {
  first.submit(first.member, 1);
  const Quota first_half = Quota::per_sm({1, 1, 1, 1, 0, 0, 0, 0});
  const Quota second_half = Quota::per_sm({0, 0, 0, 0, 1, 1, 1, 1});
  first.gpu.apply(
      {.shares = {{.launch = OperationId{0}, .quota = second_half}, {.launch = OperationId{1}, .quota = first_half}}});
  first.events();
  EXPECT_EQ(second.member->gang().led_elsewhere().sms, 4);
  second.events();
  EXPECT_FALSE(second.own.program->is_held());
}

TEST_F(GangTest, IsLimitedWhereItsOtherGpusHoldPrograms) {
  EXPECT_EQ(gang.lease(), Lease{});
  run_gang_by(first);
  second.events();
  first.run(1);
  EXPECT_EQ(gang.lease().state, LeaseState::Limited);
}

TEST_F(GangTest, GoesOnUnderAnotherLeaderWhereMoreProgramsHaveWork) {
  run_gang_by(first);
  WrittenProgram another;
  second.programs->add(another.program);
  another.launch(1h);
  second.events();
  EXPECT_TRUE(second.member->gang().leads());
  EXPECT_THAT(first.events(), testing::Contains(EventKind::LaunchEnded));
  second.submit(second.member, 1);
  second.run(0);
  EXPECT_TRUE(first.member->is_held()) << "by the decision of the second GPU's scheduler";
  first.run(0);
  EXPECT_TRUE(first.member->is_held());
  EXPECT_FALSE(first.own.program->is_held());
}

TEST_F(GangTest, RunsBesideTheOthersWhereItDoesSoOnItsLeadersGpu) {
  for (SharedGpu* each : {&first, &second}) {
    each->own.end(1h);
    each->gpu.withdraw(OperationId{0});
    each->own.launch(1h);
    for (int noted = 0; noted < 40; ++noted) each->own.program->note_busy(4ms, 10ms, true);
    each->submit(each->own.program, 2);
  }
  for (int noted = 0; noted < 40; ++noted) first.member->note_busy(3ms, 10ms, true);
  first.submit(first.member, 3);
  first.gpu.apply({.shares = {{.launch = OperationId{2}, .quota = Quota::everywhere(1)},
                              {.launch = OperationId{3}, .quota = Quota::everywhere(1)}}});
  first.events();
  second.run(2);
  EXPECT_FALSE(second.own.program->is_held());
  first.run(3);
  second.events();
  EXPECT_TRUE(second.own.program->is_held());
}

TEST_F(GangTest, IsScheduledByTheOthersWhenOneOfItsGpusLeaves) {
  run_gang_by(first);
  first.programs->remove(first.member);
  EXPECT_TRUE(second.member->gang().leads());
  second.events();
  EXPECT_FALSE(second.own.program->is_held());
}

TEST_F(GangTest, KeepsItsLeaderWhileTheOthersThereOnlyPause) {
  WrittenProgram another;
  second.programs->add(another.program);
  another.launch(1h);
  second.events();
  another.page().is_known_busy = 0;
  second.events();
  EXPECT_TRUE(second.member->gang().leads());
  const auto still_leads = [&] {
    second.events();
    return second.member->gang().leads();
  };
  for (int time = 0; time < 10'000 && still_leads(); ++time) {
  }
  EXPECT_TRUE(first.member->gang().leads());
}

}  // namespace
}  // namespace gpushare::programs
