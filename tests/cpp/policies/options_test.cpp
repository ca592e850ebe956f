// SPDX-License-Identifier: Apache-2.0
#include "core/policies/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/policies/registry.hpp"
#include "recorded_run.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::HasSubstr;

TEST(PolicyOptions, WhatIsLeftOutIsAsThePolicySays) {
  const PolicyOptions options("mix");
  EXPECT_EQ(options.policy(), "mix");
  EXPECT_EQ(options.word("mode", {"first", "second"}), "first");
  EXPECT_EQ(options.number("step", 2, 1, 10), 2);
  EXPECT_NO_THROW(options.require_all_known());
}

TEST(PolicyOptions, WhatIsGivenCounts) {
  const PolicyOptions options("mix:mode=second:step=2.5");
  EXPECT_EQ(options.word("mode", {"first", "second"}), "second");
  EXPECT_EQ(options.number("step", 2, 1, 10), 2.5);
  EXPECT_NO_THROW(options.require_all_known());
}

TEST(PolicyOptions, WhatCannotBeIsNamedWithWhatCan) {
  const PolicyOptions options("mix:mode=third:step=11:floor=x");
  EXPECT_THAT(message_of<InvalidInput>([&] { options.word("mode", {"first", "second"}); }),
              HasSubstr("mode must be one of first, second, got 'third'"));
  for (const char* key : {"step", "floor"}) {
    EXPECT_THAT(message_of<InvalidInput>([&] { options.number(key, 2, 1, 10); }),
                HasSubstr("a number in 1..10, got '"));
  }
}

TEST(PolicyOptions, AnOptionThatNobodyAsksForIsAnError) {
  const PolicyOptions options("mix:stpe=3");
  options.number("step", 2, 1, 10);
  EXPECT_THAT(message_of<InvalidInput>([&] { options.require_all_known(); }),
              HasSubstr("no option 'stpe'; known: 'step'"));
  EXPECT_THAT(message_of<InvalidInput>([] { make_policy("fifo:fast=1"); }), HasSubstr("it has none"));
}

TEST(PolicyOptions, OptionsAreWrittenInOneWay) {
  for (const char* text : {"mix:", "mix:step=1:", "mix:step", "mix:=2", "mix:step=", "mix:step=1:step=2"}) {
    EXPECT_THROW(PolicyOptions{text}, InvalidInput) << text;
  }
}

}  // namespace
}  // namespace gpushare
