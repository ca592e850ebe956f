// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/distinct_registers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

using testing::HasSubstr;

std::string renamed(const std::string& body) {
  const Module module(module_with(body));
  return with_distinct_registers(module).value_or("as it was");
}

TEST(RegisterScopes, NamesOfOneScopeAloneStay) {
  EXPECT_EQ(renamed("{ .reg .pred q; setp.eq.u32 q, %r1, 0; }\nret;\n"), "as it was");
  EXPECT_EQ(renamed("ret;\n"), "as it was");
}

TEST(RegisterScopes, ANameOfTwoScopesIsTwoNames) {
  EXPECT_THAT(renamed("{ .reg .b32 t; mov.u32 t, 1; }\n{ .reg .b32 t; mov.u32 t, 2; }\nret;\n"),
              HasSubstr("{ .reg .b32 t_gpushare2; mov.u32 t_gpushare2, 1; }\n"
                        "{ .reg .b32 t_gpushare3; mov.u32 t_gpushare3, 2; }"));
}

TEST(RegisterScopes, AnInnerRegisterIsNotTheOuterOne) {
  EXPECT_THAT(renamed("{ .reg .b32 %r<2>; mov.u32 %r1, %r2; { mov.u32 %r1, 3; } }\nmov.u32 %r1, 4;\nret;\n"),
              HasSubstr("{ .reg .b32 %r_gpushare2_<2>; mov.u32 %r_gpushare2_1, %r2; { mov.u32 %r_gpushare2_1, 3; } }\n"
                        "mov.u32 %r1, 4;"));
}

TEST(RegisterScopes, ComponentsAndLabelsOfTheSameName) {
  EXPECT_THAT(renamed(".reg .v2 .b32 v;\n{ .reg .v2 .b32 v; v: mov.b32 v.x, 1; }\nret;\n"),
              HasSubstr(".reg .v2 .b32 v;\n{ .reg .v2 .b32 v_gpushare2; v: mov.b32 v_gpushare2.x, 1; }"));
}

}  // namespace
}  // namespace gpushare::ptx
