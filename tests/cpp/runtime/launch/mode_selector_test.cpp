// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/launch/mode_selector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpushare {
namespace {

using enum ModeReason;

class ModeSelector : public testing::Test {
 protected:
  static constexpr KernelId kernel{1};
  static constexpr Duration block{10'000};

  void know_block_time() { history.set_block_time(kernel, block); }
  void know_both_modes(Duration as_workers, Duration as_original, std::size_t on_sms) {
    for (int time = 0; time < 5; ++time) {
      history.add({kernel, on_sms, ExecutionMode::Worker, 16}, as_workers);
      history.add({kernel, on_sms, ExecutionMode::Original, 16}, as_original);
    }
  }
  ModeChoice choose() const {
    return choose_mode(history,
                       {.kernel = kernel,
                        .has_worker = has_worker,
                        .blocks = blocks,
                        .max_residency = 4,
                        .sms = sms,
                        .original_up_to = original_up_to,
                        .is_behind_workers = is_behind_workers},
                       limits);
  }

  KernelHistory history;
  bool has_worker = true;
  std::int64_t blocks = 160;
  std::optional<std::vector<SmId>> sms = std::vector{SmId{0}, SmId{1}, SmId{2}, SmId{3}};
  Duration original_up_to{1'000'000};
  bool is_behind_workers = false;
  ModeLimits limits{.sms = 4, .brief = Duration(30'000)};
};

TEST_F(ModeSelector, KernelWithoutWorkerIsOriginal) {
  has_worker = false;
  EXPECT_EQ(choose().mode, ExecutionMode::Original);
  EXPECT_EQ(choose().reason, NoWorker);
  EXPECT_EQ(choose().longest, Duration{});
}

TEST_F(ModeSelector, KernelWithoutWorkerHasALimitWhereItIsKnownToBeShort) {
  has_worker = false;
  know_block_time();
  EXPECT_EQ(choose().expected, 10 * block);
  EXPECT_EQ(choose().longest, original_up_to);
  original_up_to = 9 * block;
  EXPECT_EQ(choose().longest, Duration{});
  original_up_to = 10 * block;
  sms = {SmId{0}, SmId{1}};  // it would run on the others, too
  EXPECT_EQ(choose().longest, Duration{});
}

TEST_F(ModeSelector, PartOfAnSmNeedsWorkers) {
  know_block_time();
  sms.reset();
  EXPECT_EQ(choose().mode, ExecutionMode::Worker);
  EXPECT_EQ(choose().reason, PartialSms);
}

TEST_F(ModeSelector, UnknownTimeNeedsWorkers) { EXPECT_EQ(choose().reason, UnknownTime); }

TEST_F(ModeSelector, BlocksThatAllBeginAtOnceAndAreShortAreBrief) {
  know_block_time();
  original_up_to = {};
  blocks = 16;
  EXPECT_EQ(choose().mode, ExecutionMode::Original);
  EXPECT_EQ(choose().reason, Brief);
  EXPECT_EQ(choose().expected, block);
  EXPECT_EQ(choose().longest, 10 * limits.brief);
  blocks = 17;
  EXPECT_EQ(choose().reason, TooLong);
  blocks = 8;
  sms = {SmId{0}, SmId{1}};
  EXPECT_EQ(choose().reason, TooLong);  // the other SMs may be needed by others
  sms = {SmId{0}, SmId{1}, SmId{2}, SmId{3}};
  history.set_block_time(kernel, limits.brief + Duration(1));
  EXPECT_EQ(choose().reason, TooLong);
}

TEST_F(ModeSelector, BriefSuccessorWaitsAsWorkersUnlessItsOriginalIsFaster) {
  know_block_time();
  blocks = 16;
  is_behind_workers = true;
  original_up_to = {};
  EXPECT_EQ(choose().mode, ExecutionMode::Worker);
  EXPECT_EQ(choose().reason, TooLong);
  original_up_to = 2 * block;
  know_both_modes(Duration(100), Duration(50), 4);
  EXPECT_EQ(choose().reason, ShortAndNotSlower);
  EXPECT_EQ(choose().longest, original_up_to);
}

TEST_F(ModeSelector, MispredictedKernelIsPreemptible) {
  know_block_time();
  blocks = 16;
  history.mispredicted(kernel);
  EXPECT_EQ(choose().reason, Mispredicted);
  EXPECT_EQ(choose().mode, ExecutionMode::Worker);
}

TEST_F(ModeSelector, LaunchBeyondThePolicysLimitIsPreemptible) {
  know_block_time();
  know_both_modes(Duration(100), Duration(50), 4);
  EXPECT_EQ(choose().reason, ShortAndNotSlower);
  original_up_to = 9 * block;  // it takes ten times as long as a block
  EXPECT_EQ(choose().reason, TooLong);
  EXPECT_EQ(choose().expected, 10 * block);
}

TEST_F(ModeSelector, TheModeThatWasFasterIsChosen) {
  know_block_time();
  EXPECT_EQ(choose().reason, FasterAsWorkers);  // nothing was timed
  know_both_modes(Duration(100), Duration(50), 4);
  EXPECT_EQ(choose().mode, ExecutionMode::Original);
  EXPECT_EQ(choose().reason, ShortAndNotSlower);
  EXPECT_EQ(choose().longest, original_up_to);
  history = KernelHistory();
  know_block_time();
  know_both_modes(Duration(50), Duration(100), 4);
  EXPECT_EQ(choose().reason, FasterAsWorkers);
}

TEST_F(ModeSelector, TimesCountForTheirNumberOfSms) {
  know_block_time();
  know_both_modes(Duration(100), Duration(50), 2);
  EXPECT_EQ(choose().reason, FasterAsWorkers);
  sms = {SmId{2}, SmId{3}};
  EXPECT_EQ(choose().reason, ShortAndNotSlower);
}

TEST(FullySharedSms, AllOrNothingOfEachSm) {
  using testing::ElementsAre;
  using testing::Optional;
  EXPECT_THAT(fully_shared_sms(std::vector{0, 4, 0, 4}, 4), Optional(ElementsAre(SmId{1}, SmId{3})));
  EXPECT_FALSE(fully_shared_sms(std::vector{0, 4, 3, 4}, 4));
  EXPECT_FALSE(fully_shared_sms(std::vector{0, 0}, 4));
}

}  // namespace
}  // namespace gpushare
