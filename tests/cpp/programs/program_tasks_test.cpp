// SPDX-License-Identifier: Apache-2.0
#include "programs/program_tasks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/ordering/ordering_registry.hpp"
#include "core/policies/registry.hpp"
#include "programs/program_port.hpp"
#include "programs/written_program.hpp"

namespace gpushare::programs {
namespace {

using namespace std::chrono_literals;
using daemon::SessionApplication;
using testing::ElementsAre;

constexpr std::uint64_t megabyte = 1'000'000;

std::vector<PhaseKind> kinds_of(const std::vector<PhaseRun>& runs) {
  std::vector<PhaseKind> kinds;
  for (const PhaseRun& run : runs) kinds.push_back(run.kind);
  return kinds;
}

class ProgramTasksTest : public testing::Test {
 protected:
  ProgramTasksTest() { tasks().order({}, true); }

  ProgramTasks& tasks() { return written.program->tasks(); }
  std::vector<PhaseRun> complete() { return tasks().await_complete().value(); }

  WrittenProgram written;
};

TEST_F(ProgramTasksTest, TakesThePhasesOfACompleteTaskOnce) {
  written.begin_task(3 * megabyte, 2ms, megabyte);
  const auto runs = complete();
  EXPECT_THAT(kinds_of(runs), ElementsAre(PhaseKind::ToDevice, PhaseKind::Kernels, PhaseKind::ToHost));
  EXPECT_EQ(runs[0].size().count, 3 * megabyte);
  EXPECT_EQ(runs[1].predicted, 2ms);
  written.begin_task(0, 1ms, 0);
  EXPECT_THAT(kinds_of(complete()), ElementsAre(PhaseKind::Kernels));
}

TEST_F(ProgramTasksTest, TakesATaskThatHasNotGrownForComplete) {
  written.begin_phase(PhaseKind::ToDevice, megabyte);
  written.line().changed_ns = 0;
  EXPECT_THAT(kinds_of(complete()), ElementsAre(PhaseKind::ToDevice));
}

TEST_F(ProgramTasksTest, TakesPiecesOfACopyForOneOperation) {
  written.begin_phase(PhaseKind::ToDevice, 2 * megabyte);
  written.begin_phase(PhaseKind::ToDevice, megabyte);
  written.complete();
  const auto runs = complete();
  ASSERT_EQ(runs.size(), 1);
  EXPECT_EQ(runs[0].size().count, 3 * megabyte);
  EXPECT_EQ(runs[0].last(), 2);
}

TEST_F(ProgramTasksTest, KnowsALaunchWhoseTimeIsNotKnown) {
  written.begin_task(0, {}, 0);
  const auto runs = complete();
  EXPECT_FALSE(runs[0].is_known);
  EXPECT_FALSE(std::get<Launch>(tasks().operation_of(runs[0], "program")).alone);
}

TEST_F(ProgramTasksTest, ExpectsCopiesToTakeWhatEarlierOnesHaveTaken) {
  written.begin_task(100 * megabyte, 1ms, 0);
  const auto runs = complete();
  const auto time = [&] { return std::get<Copy>(tasks().operation_of(runs[0], "program")).alone.value(); };
  for (int copy = 0; copy < 20; ++copy) tasks().notice(runs[0], 10ms);
  EXPECT_NEAR(static_cast<double>(time().count()), 10e6, 1e5);
}

TEST_F(ProgramTasksTest, KnowsTheEndOfAPhaseByItsMark) {
  written.begin_task(megabyte, 1ms, 0);
  const auto runs = complete();
  EXPECT_FALSE(tasks().have_ended(runs[0], 1, 1h));
  written.end_phase(1);
  EXPECT_TRUE(tasks().have_ended(runs[0], 1, 0ms));
}

TEST_F(ProgramTasksTest, TakesAPhaseWithoutMarkForEndedLongAfterItShouldHave) {
  written.begin_phase(PhaseKind::Kernels, 0, 10ms, false);
  written.complete();
  const auto runs = complete();
  EXPECT_FALSE(tasks().have_ended(runs[0], 1, 10ms));
  EXPECT_TRUE(tasks().have_ended(runs[0], 1, 100ms));
}

TEST_F(ProgramTasksTest, TakesThePhasesOfAProcessThatIsGoneForEnded) {
  written.begin_task(megabyte, 1ms, 0);
  const auto runs = complete();
  written.line().owner = 0;
  EXPECT_TRUE(tasks().have_ended(runs[0], 1, 0ms));
}

TEST_F(ProgramTasksTest, OpensAllGatesWhenItEnds) {
  written.begin_task(megabyte, 1ms, 0);
  written.program->release();
  EXPECT_GE(written.line().go, go_always);
  EXPECT_FALSE(tasks().await_complete());
  EXPECT_EQ(written.page().ordering, Ordered::No);
}

TEST_F(ProgramTasksTest, ShutsGatesAgainThatAProcessHasOpenedWithoutNeed) {
  written.line().go = go_always;
  written.begin_task(megabyte, 1ms, 0);
  complete();
  EXPECT_EQ(written.line().go, 2);
}

TEST_F(ProgramTasksTest, BelievesNoMoreThanItsBounds) {
  written.begin_phase(PhaseKind::ToDevice, ~0ull);
  written.begin_phase(PhaseKind::Kernels, 0, 1ms);
  written.line().at(2).predicted_ns = ~0ull;
  written.complete();
  const auto runs = complete();
  EXPECT_LE(runs[0].size().count, std::int64_t{1} << 44);
  EXPECT_LE(runs[1].predicted, 1h);
  written.line().begun = ~0ull;
  written.line().complete = 0;
  written.line().changed_ns = 0;
  written.page().ordering = Ordered::Impossible;
  EXPECT_FALSE(tasks().await_complete());
}

TEST_F(ProgramTasksTest, BeginsAgainWhereAProcessRunsAnotherProgram) {
  written.begin_task(megabyte, 1ms, 0);
  complete();
  written.line().begun = 0;
  written.line().complete = 0;
  written.begin_phase(PhaseKind::ToDevice, megabyte);
  written.complete();
  EXPECT_EQ(complete().front().first, 1);
}

TEST_F(ProgramTasksTest, LeaveAProgramAloneThatIsAlone) {
  written.begin_task(megabyte, 1ms, 0);
  tasks().order({}, false);
  EXPECT_EQ(written.page().ordering, Ordered::No);
  EXPECT_GE(written.line().go, go_always);
  tasks().order({}, true);
  EXPECT_EQ(written.page().ordering, Ordered::Yes);
  EXPECT_EQ(written.line().go, 2);
  written.begin_task(megabyte, 1ms, megabyte);
  EXPECT_EQ(complete().front().first, 3);  // what came before is none of the ordering's business
}

/// Programs that a session orders, which end their phases as soon as their gates are open.
class OrderedProgramsTest : public testing::Test {
 protected:
  static constexpr int count = 3;

  void open(const std::string& ordering, TaskOrder order = {}) {
    programs->order_tasks(order);
    device = program_device("programs");
    session = std::make_unique<Session>(
        program_live_device(device, programs), [](const auto&) { return make_policy("fifo"); },
        SessionOptions{.ordering = make_ordering(ordering, device), .keeps_record = false});
    for (int number = 0; number < count; ++number) {
      ports.push_back(std::make_unique<ProgramPort>(
          *session, std::make_shared<SessionApplication>(*session, Application{.name = std::to_string(number)}),
          programs, written[number].program));
    }
  }

  ~OrderedProgramsTest() override {
    ports.clear();
    session.reset();
  }

  /// Waits for a gate.
  static bool opens(WrittenProgram& program, std::uint64_t number, Duration within = 20s) {
    const auto until = std::chrono::steady_clock::now() + within;
    while (program.line().go < number) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(100us);
    }
    return true;
  }
  static bool stays_shut(WrittenProgram& program, std::uint64_t number) { return !opens(program, number, 20ms); }
  /// Until the session has its task.
  bool has_task(int program) const {
    const auto is_it = [name = std::to_string(program)](const ApplicationStatus& each) {
      return each.name == name && each.state != "idle";
    };
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (std::ranges::none_of(session->status().applications, is_it)) {
      if (std::chrono::steady_clock::now() > until) return false;
    }
    return true;
  }

  WrittenProgram written[count];
  std::shared_ptr<Programs> programs = std::make_shared<Programs>();
  Device device;
  std::unique_ptr<Session> session;
  std::vector<std::unique_ptr<ProgramPort>> ports;
};

TEST_F(OrderedProgramsTest, OpenPhasesOneAfterTheOther) {
  open("strings");
  written[0].begin_task(megabyte, 1ms, megabyte);
  EXPECT_TRUE(opens(written[0], 1));
  EXPECT_TRUE(stays_shut(written[0], 2));
  written[0].end_phase(1);
  EXPECT_TRUE(opens(written[0], 2));
  EXPECT_TRUE(stays_shut(written[0], 3));
  written[0].end_phase(2);
  EXPECT_TRUE(opens(written[0], 3));
  written[0].end_phase(3);
  EXPECT_TRUE(session->wait_for_all(20s));
}

TEST_F(OrderedProgramsTest, ShareTheEngines) {
  open("strings");
  written[0].begin_task(megabyte, 1ms, megabyte);
  ASSERT_TRUE(opens(written[0], 1));
  written[1].begin_task(megabyte, 1ms, megabyte);
  EXPECT_TRUE(stays_shut(written[1], 1));
  written[0].end_phase(1);
  EXPECT_TRUE(opens(written[1], 1));
  ASSERT_TRUE(opens(written[0], 2));
  written[1].end_phase(1);
  EXPECT_TRUE(stays_shut(written[1], 2));
  written[0].end_phase(2);
  EXPECT_TRUE(opens(written[1], 2));
  EXPECT_TRUE(opens(written[0], 3));
}

/// The first task keeps the uplink until both others are there.
TEST_F(OrderedProgramsTest, GoInTheOrderOfTheWindow) {
  open("cumas");
  written[0].begin_task(megabyte, 1ms, megabyte);
  ASSERT_TRUE(opens(written[0], 1));
  written[1].begin_task(400 * megabyte, 1ms, megabyte);  // nothing computes meanwhile
  EXPECT_TRUE(has_task(1));
  written[2].begin_task(megabyte, 40ms, megabyte);
  EXPECT_TRUE(has_task(2));
  written[0].end_phase(1);
  EXPECT_TRUE(opens(written[2], 1));
  EXPECT_TRUE(stays_shut(written[1], 1));
}

TEST_F(OrderedProgramsTest, GoInOrderOfArrivalUnderStrings) {
  open("strings");
  written[0].begin_task(megabyte, 1ms, megabyte);
  ASSERT_TRUE(opens(written[0], 1));
  written[1].begin_task(400 * megabyte, 1ms, megabyte);
  EXPECT_TRUE(has_task(1));
  written[2].begin_task(megabyte, 40ms, megabyte);
  EXPECT_TRUE(has_task(2));
  written[0].end_phase(1);
  EXPECT_TRUE(opens(written[1], 1));
  EXPECT_TRUE(stays_shut(written[2], 1));
}

TEST_F(OrderedProgramsTest, OpenPiecesOneAfterTheOther) {
  constexpr std::uint64_t piece = 10'000 * megabyte;  // of half a second: more is left of them than the others need
  open("cumas:pieces=short:piece_mb=10000", {Bytes{piece}, Bytes{piece}});
  for (int number = 0; number < 3; ++number) written[0].begin_phase(PhaseKind::ToDevice, piece);
  written[0].complete();
  EXPECT_TRUE(opens(written[0], 1));
  EXPECT_TRUE(stays_shut(written[0], 2));
  written[0].end_phase(1);
  EXPECT_TRUE(opens(written[0], 2));
  written[1].begin_task(megabyte, 1ms, 0);
  EXPECT_TRUE(has_task(1));
  written[0].end_phase(2);
  EXPECT_TRUE(opens(written[1], 1));
  EXPECT_TRUE(stays_shut(written[0], 3));
  written[1].end_phase(1);
  EXPECT_TRUE(opens(written[0], 3));
}

TEST_F(OrderedProgramsTest, NeverHoldThreads) {
  open("cumas");
  written[0].begin_task(0, 1ms, 0);
  ASSERT_TRUE(opens(written[0], 1));
  written[1].begin_task(0, 1ms, 0);
  EXPECT_TRUE(stays_shut(written[1], 1));
  EXPECT_EQ(written[1].lease(), Lease{});
}

TEST_F(OrderedProgramsTest, LetOthersGoWhenOneIsGone) {
  open("cumas");
  written[0].begin_task(megabyte, 1ms, megabyte);
  ASSERT_TRUE(opens(written[0], 1));
  written[1].begin_task(megabyte, 1ms, megabyte);
  EXPECT_TRUE(stays_shut(written[1], 1));
  ports[0]->close();
  EXPECT_TRUE(opens(written[1], 1));
  EXPECT_GE(written[0].line().go, go_always);
}

TEST_F(OrderedProgramsTest, AreOrderedWhileThereAreSeveral) {
  open("cumas");
  EXPECT_EQ(written[0].page().ordering, Ordered::Yes);
  ports[2]->close();
  EXPECT_EQ(written[0].page().ordering, Ordered::Yes);
  ports[1]->close();
  EXPECT_EQ(written[0].page().ordering, Ordered::No);
}

TEST_F(OrderedProgramsTest, AreScheduledByTheirPausesWhereTheyHaveNoGates) {
  open("cumas");
  written[0].page().ordering = Ordered::Impossible;
  written[0].complete();
  written[0].launch(1h);
  const auto until = std::chrono::steady_clock::now() + 20s;
  const auto is_running = [&] {
    for (const auto& application : session->status().applications) {
      if (application.name == "0") return true;
    }
    return false;
  };
  while (!is_running() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(is_running());
}

}  // namespace
}  // namespace gpushare::programs
