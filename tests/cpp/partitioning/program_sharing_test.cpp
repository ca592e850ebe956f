// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/program_sharing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "hand_written_events.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

constexpr std::int64_t step_ns = 1'000'000;
constexpr std::int64_t second_ns = 1'000'000'000;

Launch endless_program(int threads) {
  return {.kernel = {.name = "program",
                     .needs = {.threads = threads},
                     .is_profiled = false,
                     .program_block = Duration(step_ns)},
          .blocks = 1'000'000};
}

/// An SM has room for one program that keeps the GPU busy, or for sixteen small ones.
Device device_of_programs() {
  Device device = mixing_device();
  device.per_sm = {.threads = 512, .warps = 16, .blocks = 16, .registers = 65536, .shared_memory = Bytes{65536}};
  return device;
}

/// Programs under `auto` whose blocks end by hand, faster or slower by how many of them go. The first one comes a
/// second before the others.
class PlayedPrograms {
 public:
  /// GPU time per time of each of so many programs that go together.
  using Speed = std::function<double(std::size_t)>;

  PlayedPrograms(std::size_t count, int threads, Speed speed, int urgent = -1)
      : run_("auto", device_of_programs(), workload(count, threads, urgent)), speed_(std::move(speed)), due_(count) {
    run_.arrive(0, 0);
  }

  void play_until(std::int64_t end_ns) {
    for (; now_ < end_ns; now_ += step_ns) {
      for (std::size_t program = 1; now_ == second_ns && program < due_.size(); ++program) {
        run_.arrive(static_cast<int>(program), now_);
      }
      if (run_.plan().wake_at && *run_.plan().wake_at <= Time(Duration(now_))) run_.reach_deadline(now_);
      const std::set<int> going = those_that_go();
      for (const int program : going) {
        went_ns_[program] += step_ns;
        double& due = due_[static_cast<std::size_t>(program)];
        due += speed_(going.size());
        if (due < 1) continue;
        due -= 1;
        run_.run_block(program, 0, now_ - step_ns, now_);
      }
    }
  }

  std::set<int> those_that_go() const {
    std::set<int> going;
    std::vector<int> room(static_cast<std::size_t>(run_.state().sms()), threads_per_sm);
    for (const int program : run_.order()) {
      const std::vector<int> quotas = run_.quotas(program);
      for (std::size_t sm = 0; sm < room.size(); ++sm) {
        const int threads = run_.running(program).launch->kernel.needs.threads;
        if (quotas[sm] == 0 || threads > room[sm]) continue;
        room[sm] -= threads;
        going.insert(program);
      }
    }
    return going;
  }
  double seconds_of(int program) { return static_cast<double>(went_ns_[program]) / static_cast<double>(second_ns); }
  PolicyRehearsal& run() { return run_; }

 private:
  static constexpr int threads_per_sm = 512;

  static Workload workload(std::size_t count, int threads, int urgent) {
    Workload made = workload_of(std::vector<Launch>(count, endless_program(threads)));
    if (urgent >= 0) made.applications[static_cast<std::size_t>(urgent)].priority = 1;
    return made;
  }

  PolicyRehearsal run_;
  Speed speed_;
  std::vector<double> due_;
  std::map<int, std::int64_t> went_ns_;
  std::int64_t now_ = step_ns;
};

double shared(std::size_t programs) { return 1 / static_cast<double>(programs); }
/// Two together get half as much done as one.
double disturbed(std::size_t programs) { return programs == 1 ? 1.0 : 0.5 / static_cast<double>(programs); }

TEST(ProgramSharing, ProgramsThatTheGpuServesBesideEachOtherAreNeverHeld) {
  for (const int threads : {32, 512}) {
    PlayedPrograms programs(2, threads, shared);
    programs.play_until(20 * second_ns);
    EXPECT_NEAR(programs.seconds_of(0), 20, 0.01) << threads;
    EXPECT_NEAR(programs.seconds_of(1), 19, 0.01) << threads;
  }
}

TEST(ProgramSharing, ProgramsThatGetLessDoneTogetherTakeTurns) {
  PlayedPrograms programs(2, 32, disturbed);
  programs.play_until(2 * second_ns);
  const double before = programs.seconds_of(0) - programs.seconds_of(1);
  programs.play_until(10 * second_ns);
  EXPECT_THAT(programs.those_that_go(), SizeIs(1));
  EXPECT_NEAR(programs.seconds_of(0) + programs.seconds_of(1), 10.5, 0.3);
  EXPECT_NEAR(programs.seconds_of(0) - programs.seconds_of(1), before, 0.1);
}

TEST(ProgramSharing, TurnsLastLongerEachTime) {
  PlayedPrograms programs(2, 32, disturbed);
  std::vector<double> lengths;
  double turns_s = 0;
  for (std::int64_t now = 1100 * step_ns; now < 45 * second_ns; now += 100 * step_ns) {
    programs.play_until(now);
    if (programs.those_that_go().size() == 1) {
      turns_s += 0.1;
    } else if (turns_s > 1) {
      lengths.push_back(std::exchange(turns_s, 0));
    }
  }
  ASSERT_THAT(lengths, SizeIs(2));
  EXPECT_NEAR(lengths[0], 10, 0.3);
  EXPECT_NEAR(lengths[1], 20, 0.3);
}

TEST(ProgramSharing, ProgramsThatLeaveTheGpuIdleAreNeverHeld) {
  PlayedPrograms programs(2, 32, [](std::size_t) { return 0.3; });
  programs.play_until(20 * second_ns);
  EXPECT_NEAR(programs.seconds_of(0), 20, 0.01);
  EXPECT_NEAR(programs.seconds_of(1), 19, 0.01);
}

TEST(ProgramSharing, TurnsEndOnceTheProgramsLeaveTheGpuIdle) {
  bool are_idle = false;
  PlayedPrograms programs(2, 32, [&](std::size_t count) { return are_idle ? 0.2 : disturbed(count); });
  programs.play_until(3 * second_ns);
  ASSERT_THAT(programs.those_that_go(), SizeIs(1));
  are_idle = true;
  programs.play_until(4 * second_ns);
  EXPECT_THAT(programs.those_that_go(), SizeIs(2));
}

TEST(ProgramSharing, NothingIsConcludedWhereNoneWasAlone) {
  PolicyRehearsal run("auto", device_of_programs(), workload_of({endless_program(32), endless_program(32)}));
  run.arrive(0, 0);
  run.arrive(1, 0);
  for (std::int64_t now = 4 * step_ns; now < 3 * second_ns; now += 4 * step_ns) {
    run.run_block(0, 0, now - step_ns, now);
    run.run_block(1, 1, now - step_ns, now);
    EXPECT_THAT(run.order(), SizeIs(2));
  }
}

/// Eight blocks end with each piece of the second program, which has got nothing done.
TEST(ProgramSharing, BlocksThatEndWithAPieceHaveNotBeenDone) {
  constexpr int pieces = 300;
  constexpr std::int64_t piece_ns = 5 * step_ns;
  Workload workload{.name = "pieces"};
  workload.applications.push_back(application_of("endless", {endless_program(32)}));
  workload.applications.push_back(application_of("pieces", std::vector<Operation>(pieces, endless_program(32))));
  const Device device = device_of_programs();
  State state(device, workload);
  ProgramSharing sharing;
  std::size_t fewest = 2;
  const auto happen = [&](EventKind kind, int application, int operation, int sm, std::int64_t at) {
    const Event event{.time = Time(Duration(at)),
                      .application = ApplicationId{application},
                      .operation = OperationId{operation},
                      .sm = static_cast<SmId>(sm),
                      .kind = kind};
    state.update(event);
    sharing.observe(event, state);
    if (state.running().size() == 2) fewest = std::min(fewest, sharing.plan(state).shares.size());
  };
  for (int application = 0; application < 2; ++application) happen(EventKind::ApplicationArrived, application, 0, 0, 0);
  happen(EventKind::LaunchArrived, 0, 0, 0, 0);
  for (std::int64_t now = step_ns; now < 200 * step_ns; now += step_ns) {  // alone it does all that there is to do
    happen(EventKind::BlockStarted, 0, 0, 0, now - step_ns);
    happen(EventKind::BlockEnded, 0, 0, 0, now);
  }
  for (int piece = 1; piece <= pieces && fewest == 2; ++piece) {
    const std::int64_t end = 200 * step_ns + piece * piece_ns;
    happen(EventKind::LaunchArrived, 1, piece, 0, end - piece_ns);
    for (int sm = 0; sm < 8; ++sm) happen(EventKind::BlockStarted, 1, piece, sm, end - piece_ns);
    happen(EventKind::BlockStarted, 0, 0, 0, end - piece_ns);
    happen(EventKind::BlockEnded, 0, 0, 0, end - step_ns);
    for (int sm = 0; sm < 8; ++sm) happen(EventKind::BlockEnded, 1, piece, sm, end);
    happen(EventKind::LaunchEnded, 1, piece, 0, end);
  }
  EXPECT_EQ(fewest, 1);  // they take turns
}

TEST(ProgramSharing, UrgentProgramsGoFirstAndTakeNoTurns) {
  PlayedPrograms programs(3, 32, [](std::size_t count) { return count == 3 ? 0.1 : 0.5; }, 2);
  programs.play_until(8 * second_ns);
  EXPECT_EQ(programs.run().order().front(), 2);
  EXPECT_THAT(programs.run().quotas(2), Each(programs.run().running(2).max_residency));
  EXPECT_NEAR(programs.seconds_of(2), 7, 0.01);
  EXPECT_LT(programs.seconds_of(0), 6);
}

TEST(ProgramSharing, MoreProgramsThanFitTakeTurns) {
  PlayedPrograms programs(10, 512, shared);
  programs.play_until(11 * second_ns);
  EXPECT_THAT(programs.those_that_go(), SizeIs(8));
  for (int program = 1; program < 10; ++program) EXPECT_NEAR(programs.seconds_of(program), 8, 0.5) << program;
  EXPECT_NEAR(programs.seconds_of(0), 9, 0.5);
}

TEST(ProgramSharing, ManySmallProgramsAllFit) {
  PlayedPrograms programs(24, 32, shared);
  programs.play_until(2 * second_ns);
  EXPECT_THAT(programs.those_that_go(), SizeIs(24));
}

TEST(ProgramSharing, AProgramThatEndsLeavesTheOtherItsTurn) {
  PlayedPrograms programs(2, 32, disturbed);
  programs.play_until(3 * second_ns);
  ASSERT_THAT(programs.those_that_go(), SizeIs(1));
  const int owner = *programs.those_that_go().begin();
  programs.run().end_launch(owner, 3 * second_ns);
  programs.run().end_application(owner, 3 * second_ns);
  EXPECT_THAT(programs.run().order(), ElementsAre(1 - owner));
}

}  // namespace
}  // namespace gpushare
