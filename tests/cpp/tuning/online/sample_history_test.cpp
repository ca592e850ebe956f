// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/online/sample_history.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace gpushare {
namespace {

const SmAllocation shared_sms{{.sms = 8, .blocks = {4, 4}}};
const SmAllocation unevenly_shared{{.sms = 8, .blocks = {6, 2}}};
const SmAllocation sms_apart{{.sms = 4, .blocks = {8, 0}}, {.sms = 4, .blocks = {0, 8}}};

TEST(SampleHistory, ValueIsTheMedianOfTheLastThree) {
  SampleHistory history;
  history.add(shared_sms, {}, 1.3);
  EXPECT_EQ(history.value_of(shared_sms), 1.3);
  history.add(shared_sms, {}, 1.1);
  EXPECT_EQ(history.value_of(shared_sms), 1.1) << "what looked good was looked at again";
  history.add(shared_sms, {}, 1.15);
  EXPECT_EQ(history.value_of(shared_sms), 1.15);
  history.add(shared_sms, {.throughput = 0.5}, 0.5);
  EXPECT_EQ(history.value_of(shared_sms), 1.1) << "a pause of the host spoils one of three";
  EXPECT_NE(history.typical_estimate(shared_sms).throughput, 0.5);
}

TEST(SampleHistory, AHigherLastSampleCounts) {
  SampleHistory history;
  history.add(shared_sms, {}, 1.05);
  history.add(shared_sms, {}, 1.06);
  history.add(shared_sms, {}, 1.2);
  EXPECT_EQ(history.value_of(shared_sms), 1.2);
}

TEST(SampleHistory, TwoDifferentSamplesNeedAThird) {
  SampleHistory history;
  EXPECT_FALSE(history.needs_third_sample(shared_sms, 0.05));
  history.add(shared_sms, {}, 1.2);
  EXPECT_FALSE(history.needs_third_sample(shared_sms, 0.05));
  history.add(shared_sms, {}, 0.9);
  EXPECT_TRUE(history.needs_third_sample(shared_sms, 0.05));
  EXPECT_FALSE(history.needs_third_sample(shared_sms, 0.5));
  history.add(shared_sms, {}, 0.9);
  EXPECT_FALSE(history.needs_third_sample(shared_sms, 0.05));
}

TEST(SampleHistory, FindsTheBestOfAllAndOfAKind) {
  SampleHistory history;
  const auto is_shared = [](const SmAllocation& each) { return each.size() == 1; };
  EXPECT_EQ(history.best_of(is_shared), nullptr);
  history.add(shared_sms, {}, 1.1);
  history.add(unevenly_shared, {.throughput = 1.2}, 1.2);
  history.add(sms_apart, {}, 1.15);
  EXPECT_TRUE(same_allocation(history.best().allocation, unevenly_shared));
  EXPECT_EQ(history.best().typical()->seen.throughput, 1.2);
  EXPECT_TRUE(same_allocation(history.best_of(is_shared)->allocation, unevenly_shared));
  EXPECT_TRUE(same_allocation(history.best_of(std::not_fn(is_shared))->allocation, sms_apart));
}

TEST(SampleHistory, ARejectedAllocationIsKnownWithoutValue) {
  SampleHistory history;
  history.reject(shared_sms);
  history.add(sms_apart, {}, -5);
  EXPECT_EQ(history.best_of([](const SmAllocation& each) { return each.size() == 1; }), nullptr);
  EXPECT_TRUE(history.knows(shared_sms));
  EXPECT_FALSE(history.knows(unevenly_shared));
  EXPECT_EQ(history.value_of(shared_sms), std::numeric_limits<double>::lowest());
  EXPECT_TRUE(same_allocation(history.best().allocation, sms_apart));
}

}  // namespace
}  // namespace gpushare
