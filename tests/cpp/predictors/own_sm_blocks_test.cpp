// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/own_sm_blocks.hpp"

#include <gtest/gtest.h>

#include "hand_written_events.hpp"

namespace gpushare {
namespace {

using namespace test;

class Rehearsal : public HandWrittenRun {
 public:
  explicit Rehearsal(bool remembers,
                     Workload workload = workload_of({launch_of(2, 1, "kernel"), launch_of(24, 1, "kernel"),
                                                      launch_of(24, 1, "another")}))
      : HandWrittenRun(small_device(3), std::move(workload)), predictor(remembers) {}

  /// Blocks of 100 and 300 ns.
  void run_first_launch() {
    arrive(0, 0);
    run_block(0, 0, 0, 100);
    run_block(0, 0, 100, 400);
    end_launch(0, 400);
  }

  OwnSmBlocks predictor;

 protected:
  void observed(const Event& event) override { predictor.observe(event, state()); }
};

TEST(OwnSmBlocks, ABlockBesideOthersIsASampleThatIsNotCertain) {
  Rehearsal run(false);
  run.arrive(1, 0);
  run.start_block(1, 0, 0);
  run.arrive(2, 10);
  run.run_block(2, 0, 20, 920);
  EXPECT_TRUE(run.predictor.has_sample(run.running(2)));
  EXPECT_FALSE(run.predictor.has_certain_sample(run.running(2)));
  EXPECT_EQ(run.predictor.remaining(run.running(2)), Duration(23 * 900 / (4 * 3)));
  EXPECT_TRUE(run.predictor.changed());
}

TEST(OwnSmBlocks, NeitherIsOneThatHasHadOthersBesideIt) {
  Rehearsal run(false);
  run.arrive(1, 0);
  run.start_block(1, 0, 0);
  run.arrive(2, 10);
  run.start_block(2, 0, 20);
  run.end_block(1, 0, 0, 30);
  run.end_block(2, 0, 20, 320);
  EXPECT_FALSE(run.predictor.has_certain_sample(run.running(2)));
}

TEST(OwnSmBlocks, OneOnAnSmOfItsOwnTakesTheirPlace) {
  Rehearsal run(false);
  run.arrive(1, 0);
  run.start_block(1, 0, 0);
  run.arrive(2, 10);
  run.run_block(2, 0, 20, 920);
  run.end_block(1, 0, 0, 930);
  run.start_block(1, 1, 930);  // others elsewhere do not matter
  run.run_block(2, 0, 930, 990);
  EXPECT_TRUE(run.predictor.has_certain_sample(run.running(2)));
  EXPECT_TRUE(run.predictor.changed());
  EXPECT_EQ(run.predictor.remaining(run.running(2)), Duration(22 * 60 / (4 * 3)));
  run.run_block(2, 1, 1000, 1900);
  EXPECT_EQ(run.predictor.remaining(run.running(2)), Duration(21 * 60 / (4 * 3)));
}

TEST(OwnSmBlocks, AGroupMayHoldBlocksThatHadOthersBesideThem) {
  Rehearsal run(false);
  run.arrive(1, 0);
  run.start_block(1, 0, 0);
  run.arrive(2, 10);
  run.start_group(2, 0, 4, 20);
  run.end_block(1, 0, 0, 100);
  run.end_group(2, 0, 4, 120, 140);  // a mean of 20: the last one began at 120, the first much earlier
  EXPECT_FALSE(run.predictor.has_certain_sample(run.running(2)));
  run.start_group(2, 0, 4, 140);
  run.end_group(2, 0, 4, 150, 160);
  EXPECT_TRUE(run.predictor.has_certain_sample(run.running(2)));
}

TEST(OwnSmBlocks, LaterBlocksCountForMoreThanEarlierOnes) {
  Rehearsal run(false);
  run.arrive(1, 0);
  run.start_group(1, 0, 12, 0);
  run.end_group(1, 0, 12, 0, 100);
  run.start_group(1, 0, 4, 100);
  run.end_group(1, 0, 4, 100, 500);
  const double all_at_once = 4 * 3;
  const double latest = 100 + 4 / (4 + all_at_once) * (400 - 100);
  EXPECT_EQ(run.predictor.remaining(run.running(1)), Duration(static_cast<int>(latest * 8 / all_at_once)));
}

TEST(OwnSmBlocks, ASampleExpires) {
  Rehearsal run(false);
  run.arrive(1, 0);
  run.run_block(1, 0, 0, 100);
  run.run_block(1, 0, 100, 200);
  EXPECT_FALSE(run.predictor.changed());
  run.run_block(1, 0, 200, 50'100);
  EXPECT_TRUE(run.predictor.changed());
}

TEST(OwnSmBlocks, TheMeanOfTheLastLaunchHoldsForTheNext) {
  Rehearsal run(true);
  run.run_first_launch();
  run.arrive(1, 400);
  ASSERT_TRUE(run.predictor.has_sample(run.running(1)));
  EXPECT_EQ(run.predictor.remaining(run.running(1)), Duration(24 * 200 / (4 * 3)));
}

TEST(OwnSmBlocks, ItHoldsForThoseThatWaitMeanwhile) {
  Rehearsal run(true);
  run.arrive(1, 0);
  run.run_first_launch();
  EXPECT_TRUE(run.predictor.has_certain_sample(run.running(1)));
  EXPECT_EQ(run.predictor.remaining(run.running(1)), Duration(24 * 200 / (4 * 3)));
}

TEST(OwnSmBlocks, ButNotForThoseThatHaveACertainSample) {
  Rehearsal run(true);
  run.arrive(1, 0);
  run.run_block(1, 1, 0, 50);
  run.run_first_launch();
  EXPECT_EQ(run.predictor.remaining(run.running(1)), Duration(23 * 50 / (4 * 3)));
}

TEST(OwnSmBlocks, FewerBlocksRemainAsTheyEndWhateverTheyTake) {
  Rehearsal run(true);
  run.run_first_launch();
  run.arrive(1, 400);
  for (int block = 0; block < 12; ++block) run.run_block(1, 1, 400 + 9 * block, 409 + 9 * block);
  EXPECT_EQ(run.predictor.remaining(run.running(1)), Duration(12 * 200 / (4 * 3)));
  EXPECT_FALSE(run.predictor.changed());
}

TEST(OwnSmBlocks, OfBlocksBesideOthersAloneTheMeanIsRemembered) {
  Rehearsal run(true);
  run.arrive(2, 0);
  run.start_block(2, 0, 0);
  run.run_first_launch();
  run.arrive(1, 400);
  EXPECT_EQ(run.predictor.remaining(run.running(1)), Duration(24 * 200 / (4 * 3)));
}

TEST(OwnSmBlocks, WhichIsNotForgottenForBlocksBesideOthers) {
  Rehearsal run(true, workload_of({launch_of(2, 1, "kernel"), launch_of(2, 1, "kernel"), launch_of(24, 1, "another"),
                                   launch_of(24, 1, "kernel")}));
  run.run_first_launch();
  run.arrive(2, 400);
  run.start_block(2, 0, 400);
  run.arrive(1, 400);
  run.run_block(1, 0, 400, 5'400);
  run.run_block(1, 0, 5'400, 10'400);
  run.end_launch(1, 10'400);
  run.arrive(3, 10'400);
  EXPECT_EQ(run.predictor.remaining(run.running(3)), Duration(24 * 200 / (4 * 3)));
}

TEST(OwnSmBlocks, OtherKernelsAreSampled) {
  Rehearsal run(true);
  run.run_first_launch();
  run.arrive(2, 400);
  EXPECT_FALSE(run.predictor.has_sample(run.running(2)));
  run.run_block(2, 0, 400, 500);
  EXPECT_TRUE(run.predictor.has_sample(run.running(2)));
  EXPECT_TRUE(run.predictor.changed());
}

TEST(OwnSmBlocks, BlocksOfAnotherSizeAreSampled) {
  Workload workload = workload_of({launch_of(2, 1, "kernel"), launch_of(24, 1, "kernel")});
  std::get<Launch>(workload.applications[1].operations[0]).kernel.needs.threads = 128;
  Rehearsal run(true, std::move(workload));
  run.run_first_launch();
  run.arrive(1, 400);
  EXPECT_FALSE(run.predictor.has_sample(run.running(1)));
}

TEST(OwnSmBlocks, ALaunchThatDidNotEndIsNotRemembered) {
  Rehearsal run(true);
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  run.end_launch(0, 100);  // withdrawn
  run.arrive(1, 400);
  EXPECT_FALSE(run.predictor.has_sample(run.running(1)));
}

TEST(OwnSmBlocks, NothingIsRememberedUnasked) {
  Rehearsal run(false);
  run.run_first_launch();
  run.arrive(1, 400);
  EXPECT_FALSE(run.predictor.has_sample(run.running(1)));
}

}  // namespace
}  // namespace gpushare
