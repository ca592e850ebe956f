// SPDX-License-Identifier: Apache-2.0
#include "core/predictors/remembering_slicing.hpp"

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

  RememberingSlicing predictor;

 protected:
  void observed(const Event& event) override { predictor.observe(event, state()); }
};

TEST(RememberingSlicing, TheMeanOfTheLastLaunchHoldsForTheNext) {
  Rehearsal run(true);
  run.run_first_launch();
  run.arrive(1, 400);
  ASSERT_TRUE(run.predictor.has_sample(run.running(1)));
  EXPECT_EQ(run.predictor.remaining(run.running(1)), Duration(24 * 200 / (4 * 3)));
}

TEST(RememberingSlicing, FewerBlocksRemainAsTheyEndWhateverTheyTake) {
  Rehearsal run(true);
  run.run_first_launch();
  run.arrive(1, 400);
  for (int block = 0; block < 12; ++block) run.run_block(1, 1, 400 + 9 * block, 409 + 9 * block);
  EXPECT_EQ(run.predictor.remaining(run.running(1)), Duration(12 * 200 / (4 * 3)));
  EXPECT_FALSE(run.predictor.changed());
}

TEST(RememberingSlicing, OtherKernelsAreSampled) {
  Rehearsal run(true);
  run.run_first_launch();
  run.arrive(2, 400);
  EXPECT_FALSE(run.predictor.has_sample(run.running(2)));
  run.run_block(2, 0, 400, 500);
  EXPECT_TRUE(run.predictor.has_sample(run.running(2)));
  EXPECT_TRUE(run.predictor.changed());
}

TEST(RememberingSlicing, BlocksOfAnotherSizeAreSampled) {
  Workload workload = workload_of({launch_of(2, 1, "kernel"), launch_of(24, 1, "kernel")});
  std::get<Launch>(workload.applications[1].operations[0]).kernel.needs.threads = 128;
  Rehearsal run(true, std::move(workload));
  run.run_first_launch();
  run.arrive(1, 400);
  EXPECT_FALSE(run.predictor.has_sample(run.running(1)));
}

TEST(RememberingSlicing, ALaunchThatDidNotEndIsNotRemembered) {
  Rehearsal run(true);
  run.arrive(0, 0);
  run.run_block(0, 0, 0, 100);
  run.end_launch(0, 100);  // withdrawn
  run.arrive(1, 400);
  EXPECT_FALSE(run.predictor.has_sample(run.running(1)));
}

TEST(RememberingSlicing, NothingIsRememberedUnasked) {
  Rehearsal run(false);
  run.run_first_launch();
  run.arrive(1, 400);
  EXPECT_FALSE(run.predictor.has_sample(run.running(1)));
}

}  // namespace
}  // namespace gpushare
