// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/ptx_tokens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpushare::ptx {
namespace {

using testing::ElementsAre;

std::vector<std::string> texts(std::string_view text) {
  std::vector<std::string> result;
  for (const Token& token : tokenize(text)) result.emplace_back(token.text);
  return result;
}

TEST(PtxTokens, AnOpcodeWithItsSuffixesIsOneWord) {
  EXPECT_THAT(texts("ld.global.v2.u32 {%r1,%r2}, [%rd1+8];"),
              ElementsAre("ld.global.v2.u32", "{", "%r1", ",", "%r2", "}", ",", "[", "%rd1", "+", "8", "]", ";"));
}

TEST(PtxTokens, AScopeWithTwoColonsBelongsToTheWord) {
  EXPECT_THAT(texts("cp.async.bulk.shared::cluster.global [%r1];"),
              ElementsAre("cp.async.bulk.shared::cluster.global", "[", "%r1", "]", ";"));
}

TEST(PtxTokens, ASingleColonEndsALabel) {
  EXPECT_THAT(texts("$L__BB0_1: ret;"), ElementsAre("$L__BB0_1", ":", "ret", ";"));
}

TEST(PtxTokens, NumbersInAllNotations) {
  EXPECT_THAT(texts("0f3F800000 0d3FF0000000000000 0x1Fu 0b101 017 1.5e-3 3U 2E+4 .5"),
              ElementsAre("0f3F800000", "0d3FF0000000000000", "0x1Fu", "0b101", "017", "1.5e-3", "3U", "2E+4", ".5"));
}

TEST(PtxTokens, AHexadecimalNumberBeforeAPlusIsNoExponent) {
  EXPECT_THAT(texts("0x1e+4"), ElementsAre("0x1e", "+", "4"));
}

TEST(PtxTokens, CommentsAndSpaceAreLeftOut) {
  EXPECT_THAT(texts("a // b\n\t/* c\nd */ e \"f // g\""), ElementsAre("a", "e", "\"f // g\""));
}

TEST(PtxTokens, OffsetsPointIntoTheText) {
  const std::string text = "  mov.u32 \t%r1, %tid.x;";
  for (const Token& token : tokenize(text)) EXPECT_EQ(text.substr(token.offset, token.text.size()), token.text);
}

TEST(PtxTokens, WhatIsNoPtxHasTokensToo) {
  EXPECT_THAT(texts("a\nb /* c"), ElementsAre("a", "b"));
  EXPECT_THAT(texts("a \"b"), ElementsAre("a", "\"b"));
  EXPECT_THAT(texts("a `"), ElementsAre("a", "`"));
  EXPECT_THAT(texts("\xc3\xa9\xe2\x88\x91+"), ElementsAre("\xc3\xa9", "\xe2\x88\x91", "+"));  // whole characters
  EXPECT_THAT(texts("\xa9\xa9"), ElementsAre("\xa9\xa9"));
}

}  // namespace
}  // namespace gpushare::ptx
