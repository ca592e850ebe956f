// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/program_sharing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "hand_written_events.hpp"
#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::SizeIs;

constexpr std::int64_t ms = 1'000'000;

struct PlayedProgram {
  Duration block{};  ///< of its kernels; 0: not known
  int priority = 0;
};
constexpr PlayedProgram of_short_blocks{Duration(20'000)};
constexpr PlayedProgram of_long_blocks{Duration(3 * ms)};
constexpr PlayedProgram urgent{{}, 1};

/// Programs under `auto` that have work all the time, until the test says that they have none.
class PlayedPrograms {
 public:
  explicit PlayedPrograms(const std::vector<PlayedProgram>& programs)
      : run_("auto", device(), workload(programs)), went_(programs.size()) {
    for (std::size_t program = 0; program < programs.size(); ++program) run_.arrive(static_cast<int>(program), 0);
  }

  void play_until(std::int64_t end) {
    for (; now_ < end; now_ += ms) {
      if (run_.plan().wake_at && *run_.plan().wake_at <= Time(Duration(now_))) run_.reach_deadline(now_);
      for (const int program : those_that_go()) ++went_[static_cast<std::size_t>(program)];
    }
  }
  void end(int program) {
    run_.end_launch(program, now_);
    run_.end_application(program, now_);
  }

  /// Those with an SM.
  std::set<int> those_that_go() const {
    const std::vector<int> named = run_.order();
    return {named.begin(), named.end()};
  }
  /// Milliseconds.
  int went(int program) const { return went_[static_cast<std::size_t>(program)]; }
  const PolicyRehearsal& run() const { return run_; }

 private:
  /// An SM has room for sixteen programs.
  static Device device() {
    Device made = mixing_device();
    made.per_sm = {.threads = 512, .warps = 16, .blocks = 16, .registers = 65536, .shared_memory = Bytes{65536}};
    return made;
  }
  static Workload workload(const std::vector<PlayedProgram>& programs) {
    std::vector<Launch> launches;
    for (const PlayedProgram& each : programs) {
      launches.push_back(
          {.kernel = {.name = "program", .needs = {.threads = 32}, .is_profiled = false, .program_block = each.block},
           .blocks = 1'000'000});
    }
    Workload made = workload_of(launches);
    for (std::size_t at = 0; at < programs.size(); ++at) made.applications[at].priority = programs[at].priority;
    return made;
  }

  PolicyRehearsal run_;
  std::vector<int> went_;
  std::int64_t now_ = 0;
};

TEST(ProgramSharing, ProgramsWithShortOrUnknownBlocksAreNeverHeld) {
  PlayedPrograms programs({of_short_blocks, {}, of_short_blocks});
  programs.play_until(1000 * ms);
  for (int program = 0; program < 3; ++program) EXPECT_EQ(programs.went(program), 1000);
}

TEST(ProgramSharing, AProgramWithLongBlocksTakesTurnsWithAllOthersTogether) {
  PlayedPrograms programs({of_short_blocks, of_long_blocks, of_short_blocks});
  programs.play_until(600 * ms);
  EXPECT_NEAR(programs.went(1), 200, 25);
  EXPECT_EQ(programs.went(0), programs.went(2));
  EXPECT_EQ(programs.went(0), 600 - programs.went(1));
}

TEST(ProgramSharing, ProgramsWithLongBlocksGoOneAfterTheOther) {
  PlayedPrograms programs({of_long_blocks, of_long_blocks, of_long_blocks});
  programs.play_until(600 * ms);
  EXPECT_THAT(programs.those_that_go(), SizeIs(1));
  for (int program = 0; program < 3; ++program) EXPECT_NEAR(programs.went(program), 200, 25) << program;
}

TEST(ProgramSharing, AProgramWithLongBlocksThatIsAloneIsNotHeld) {
  PlayedPrograms programs({of_long_blocks});
  programs.play_until(100 * ms);
  EXPECT_EQ(programs.went(0), 100);
}

TEST(ProgramSharing, LongBlocksAreHeldWhileAnUrgentProgramHasWork) {
  PlayedPrograms programs({of_long_blocks, of_short_blocks, urgent});
  programs.play_until(100 * ms);
  EXPECT_EQ(programs.went(0), 0);
  EXPECT_EQ(programs.went(1), 100);
  EXPECT_EQ(programs.run().order().front(), 2);
  programs.end(2);
  programs.play_until(300 * ms);
  EXPECT_NEAR(programs.went(0), 100, 25);
}

TEST(ProgramSharing, AnUrgentProgramWithLongBlocksIsHeldForMoreUrgentOnesOnly) {
  PlayedPrograms programs({{of_long_blocks.block, 1}, {of_long_blocks.block, 2}, {of_short_blocks.block, 1}});
  EXPECT_THAT(programs.run().order(), ElementsAre(1, 2));
  programs.end(1);
  EXPECT_THAT(programs.those_that_go(), ElementsAre(0, 2));
}

TEST(ProgramSharing, AProgramThatEndsInItsTurnLeavesItToTheOthers) {
  PlayedPrograms programs({of_long_blocks, of_long_blocks});
  programs.play_until(30 * ms);
  const int owner = *programs.those_that_go().begin();
  programs.end(owner);
  EXPECT_THAT(programs.those_that_go(), ElementsAre(1 - owner));
}

TEST(ProgramSharing, MoreProgramsThanFitOnAnSmAllHaveOne) {
  PlayedPrograms programs(std::vector<PlayedProgram>(40, of_short_blocks));
  std::vector<int> on(static_cast<std::size_t>(programs.run().state().sms()), 0);
  for (int program = 0; program < 40; ++program) {
    const std::vector<int> quotas = programs.run().quotas(program);
    for (std::size_t sm = 0; sm < on.size(); ++sm) on[sm] += quotas[sm] > 0 ? 1 : 0;
  }
  EXPECT_EQ(std::reduce(on.begin(), on.end()), 40);
  EXPECT_LE(*std::ranges::max_element(on), 16);
}

}  // namespace
}  // namespace gpushare
