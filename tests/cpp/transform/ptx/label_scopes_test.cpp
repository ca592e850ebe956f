// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/label_scopes.hpp"

#include <gtest/gtest.h>

#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

/// The statements of `k` are: { A: { A: ret; B: } ret; { ret; } }
class LabelScopesTest : public testing::Test {
 protected:
  Module module{ptx_header + ".entry k() { A: { A: ret; B: } ret; { ret; } }"};
  LabelScopes labels{module.entry("k")};
};

TEST_F(LabelScopesTest, TheInnermostLabelCounts) {
  EXPECT_EQ(labels.find("A", 4), 3u);
  EXPECT_EQ(labels.find("A", 7), 1u);
}

TEST_F(LabelScopesTest, ALabelAroundIsSeenAndOneInsideIsNot) {
  EXPECT_EQ(labels.find("A", 9), 1u);
  EXPECT_EQ(labels.find("B", 4), 5u);
  EXPECT_EQ(labels.find("B", 7), std::nullopt);
}

}  // namespace
}  // namespace gpushare::ptx
