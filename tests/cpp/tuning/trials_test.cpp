// SPDX-License-Identifier: Apache-2.0
#include "core/tuning/trials.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace gpushare {
namespace {

const Division shared_sms{{.sms = 8, .blocks = {4, 4}}};
const Division unevenly_shared{{.sms = 8, .blocks = {6, 2}}};
const Division sms_apart{{.sms = 4, .blocks = {8, 0}}, {.sms = 4, .blocks = {0, 8}}};

TEST(Trials, TheMedianOfTheLastThreeTimesCounts) {
  Trials trials;
  trials.add(shared_sms, {}, 1.3);
  EXPECT_EQ(trials.value_of(shared_sms), 1.3);
  trials.add(shared_sms, {}, 1.1);
  EXPECT_EQ(trials.value_of(shared_sms), 1.1) << "what looked good was looked at again";
  trials.add(shared_sms, {}, 1.15);
  EXPECT_EQ(trials.value_of(shared_sms), 1.15);
  trials.add(shared_sms, {.throughput = 0.5}, 0.5);
  EXPECT_EQ(trials.value_of(shared_sms), 1.1) << "a pause of the host spoils one of three";
  EXPECT_NE(trials.seen_of(shared_sms).throughput, 0.5);
}

TEST(Trials, WhatHasBecomeBetterIsBelieved) {
  Trials trials;
  trials.add(shared_sms, {}, 1.05);
  trials.add(shared_sms, {}, 1.06);
  trials.add(shared_sms, {}, 1.2);
  EXPECT_EQ(trials.value_of(shared_sms), 1.2);
}

TEST(Trials, TwoTimesThatContradictOneAnotherNeedAThird) {
  Trials trials;
  EXPECT_FALSE(trials.needs_a_third(shared_sms, 0.05));
  trials.add(shared_sms, {}, 1.2);
  EXPECT_FALSE(trials.needs_a_third(shared_sms, 0.05));
  trials.add(shared_sms, {}, 0.9);
  EXPECT_TRUE(trials.needs_a_third(shared_sms, 0.05));
  EXPECT_FALSE(trials.needs_a_third(shared_sms, 0.5));
  trials.add(shared_sms, {}, 0.9);
  EXPECT_FALSE(trials.needs_a_third(shared_sms, 0.05));
}

TEST(Trials, TheBestIsFoundAmongAllAndAmongThoseOfAKind) {
  Trials trials;
  const auto is_shared = [](const Division& each) { return each.size() == 1; };
  EXPECT_EQ(trials.best_of(is_shared), nullptr);
  trials.add(shared_sms, {}, 1.1);
  trials.add(unevenly_shared, {.throughput = 1.2}, 1.2);
  trials.add(sms_apart, {}, 1.15);
  EXPECT_TRUE(same_division(trials.best().division, unevenly_shared));
  EXPECT_EQ(trials.best().typical()->seen.throughput, 1.2);
  EXPECT_TRUE(same_division(trials.best_of(is_shared)->division, unevenly_shared));
  EXPECT_TRUE(same_division(trials.best_of(std::not_fn(is_shared))->division, sms_apart));
}

TEST(Trials, WhatWasGivenUpIsKnownAndWorthNothing) {
  Trials trials;
  trials.give_up(shared_sms);
  trials.add(sms_apart, {}, -5);
  EXPECT_EQ(trials.best_of([](const Division& each) { return each.size() == 1; }), nullptr);
  EXPECT_TRUE(trials.knows(shared_sms));
  EXPECT_FALSE(trials.knows(unevenly_shared));
  EXPECT_EQ(trials.value_of(shared_sms), std::numeric_limits<double>::lowest());
  EXPECT_TRUE(same_division(trials.best().division, sms_apart));
}

}  // namespace
}  // namespace gpushare
