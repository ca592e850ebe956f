// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/probe_candidates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuning/sample_kernels.hpp"

namespace gpushare {
namespace {

using namespace test;

class ProbeCandidatesTest : public testing::Test {
 protected:
  SmAllocation shared(int one, int other) const { return {{.sms = device_.sms, .blocks = {one, other}}}; }
  void find_neighbours() { candidates_.find_neighbours(device_, contenders_, start_, history_); }
  /// Blocks of the first kernel in all candidates, in order.
  std::vector<int> take_all(bool may_suggestion_wait = false) {
    std::vector<int> blocks;
    while (!candidates_.empty()) {
      blocks.push_back(candidates_.take_next(may_suggestion_wait).front().blocks.front());
    }
    return blocks;
  }

  const Device device_ = mixing_device();
  const Kernel one_ = issuing_kernel("one");
  const Kernel other_ = issuing_kernel("other");
  const std::vector<Contender> contenders_{contender_of(device_, one_), contender_of(device_, other_)};
  const SmAllocation start_ = shared(4, 4);
  SampleHistory history_;
  ProbeCandidates candidates_;
};

TEST_F(ProbeCandidatesTest, SuggestionsGoBeforeNeighboursUnlessTheyMayWait) {
  for (const bool may_wait : {false, true}) {
    candidates_.suggest(shared(1, 1));
    candidates_.suggest(shared(2, 2));
    candidates_.suggest_next(shared(3, 3));
    find_neighbours();
    const std::vector<int> taken = take_all(may_wait);
    ASSERT_GT(taken.size(), 3U);
    const std::vector<int> suggested{3, 1, 2};
    EXPECT_TRUE(std::equal(suggested.begin(), suggested.end(), may_wait ? taken.end() - 3 : taken.begin()));
  }
}

TEST_F(ProbeCandidatesTest, NeighboursAreNearerOnceAllAtADistanceAreKnown) {
  find_neighbours();
  const std::vector<int> far = take_all();
  EXPECT_THAT(far, testing::UnorderedElementsAre(2, 6));
  for (const int blocks : far) history_.reject(shared(blocks, 8 - blocks));
  find_neighbours();
  EXPECT_THAT(take_all(), testing::UnorderedElementsAre(3, 5));
  candidates_.set_step_size(Tuning::largest_step);
  history_.clear();
  find_neighbours();
  EXPECT_THAT(take_all(), testing::UnorderedElementsAreArray(far));
}

TEST_F(ProbeCandidatesTest, PreferredKernelHasMostBlocksInTheFirst) {
  for (const std::size_t kernel : {0U, 1U}) {
    find_neighbours();
    candidates_.prefer(kernel);
    EXPECT_EQ(take_all(), (kernel == 0 ? std::vector{6, 2} : std::vector{2, 6}));
  }
}

TEST_F(ProbeCandidatesTest, KnownSuggestionsAndNeighboursCanBeDropped) {
  candidates_.suggest(shared(1, 1));
  candidates_.suggest(shared(2, 2));
  history_.reject(shared(1, 1));
  candidates_.drop_known_suggestions(history_);
  find_neighbours();
  EXPECT_TRUE(candidates_.has_neighbours());
  candidates_.drop_neighbours();
  EXPECT_FALSE(candidates_.has_neighbours());
  ASSERT_NE(candidates_.next_suggestion(), nullptr);
  EXPECT_EQ(take_all(), std::vector{2});
  EXPECT_EQ(candidates_.next_suggestion(), nullptr);
}

}  // namespace
}  // namespace gpushare
