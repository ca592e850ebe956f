// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/module_variables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string module_of(const std::string& declarations, const std::string& body) {
  return ptx_header + declarations + ".visible .entry k() {\n.reg .b64 %rd<9>;\n.reg .b32 %r<9>;\n" + body +
         "ret;\n}\n";
}

std::vector<std::string> names(const std::vector<ModuleVariable>& variables) {
  std::vector<std::string> found;
  for (const ModuleVariable& each : variables) found.push_back(each.name);
  return found;
}

std::vector<std::string> names_used(const std::vector<ModuleVariable>& variables) {
  std::vector<std::string> found;
  for (const ModuleVariable& each : variables) {
    if (each.is_used) found.push_back(each.name);
  }
  return found;
}

TEST(ModuleVariables, AreDescribed) {
  const std::string declarations =
      ".visible .global .align 4 .u32 total;\n"
      ".const .align 4 .b8 coefficient[16];\n"
      ".global .attribute(.managed) .align 8 .f64 level = 0d3FF0000000000000;\n"
      ".global .align 16 .v4 .f32 rows[2][3];\n"
      ".global .u16 some[] = {1, -2, 3}, other;\n";
  const auto found =
      module_variables(module_of(declarations,
                                 "mov.u64 %rd1, total;\nmov.u64 %rd1, coefficient;\nld.global.f64 %rd2, [level];\n"
                                 "mov.u64 %rd1, rows;\nmov.u64 %rd1, some;\nst.global.u16 [other], %r1;\n"),
                       "k");
  ASSERT_THAT(names(found), ElementsAre("total", "coefficient", "level", "rows", "some", "other"));
  EXPECT_EQ(found[0].type, ".u32");
  EXPECT_THAT(found[0].extents, IsEmpty());
  EXPECT_EQ(found[0].bytes, 4u);
  EXPECT_FALSE(found[0].is_constant || found[0].is_managed);
  EXPECT_TRUE(found[1].is_constant);
  EXPECT_THAT(found[1].extents, ElementsAre(16));
  EXPECT_TRUE(found[2].is_managed);
  EXPECT_THAT(found[3].extents, ElementsAre(2, 3, 4));
  EXPECT_EQ(found[3].bytes, 96u);
  EXPECT_THAT(found[4].extents, ElementsAre(3));
  EXPECT_EQ(found[5].bytes, 2u);
}

TEST(ModuleVariables, WhatNoKernelMentionsMakesNoDifference) {
  const std::string declarations =
      ".global .u32 unused;\n.extern .global .u32 elsewhere;\n.extern .shared .u32 buffer[];\n";
  EXPECT_THAT(module_variables(module_of(declarations, "ld.global.u32 %r1, [elsewhere];\n"), "k"), IsEmpty());
}

TEST(ModuleVariables, WhatTheCompilerPutThereIsNone) {
  const std::string declarations =
      ".global .align 1 .b8 $str[3] = {104, 105};\n.global .align 4 .b8 __cudart_i2opi_f[4] = {65};\n"
      ".global .u32 __mine;\n";
  const std::string body = "mov.u64 %rd1, $str;\nmov.u64 %rd1, __cudart_i2opi_f;\nld.global.u32 %r1, [__mine];\n";
  EXPECT_THAT(names(module_variables(module_of(declarations, body), "k")), ElementsAre("__mine"));
}

TEST(ModuleVariables, AreUsedByWayOfFunctionsAndInitialValues) {
  const std::string declarations =
      ".global .u32 counter;\n.global .u32 behind;\n.global .u64 where = generic(behind);\n.global .u32 others;\n"
      ".func deeper() {\nst.global.u32 [counter], 1;\nret;\n}\n.func called() {\ncall.uni deeper;\nret;\n}\n"
      ".visible .entry other() {\nst.global.u32 [others], 1;\nret;\n}\n";
  const auto found =
      module_variables(module_of(declarations, "ld.global.u64 %rd1, [where];\nmov.u64 %rd2, called;\n"), "k");
  EXPECT_THAT(names(found), ElementsAre("counter", "behind", "where", "others"));
  EXPECT_THAT(names_used(found), ElementsAre("counter", "behind", "where"));
}

TEST(ModuleVariables, OfAParameterOrABodyAreNotTheModules) {
  const std::string text = ptx_header +
                           ".visible .entry k(.param .u64 .ptr .global .align 4 out) {\n.reg .b64 %rd<2>;\n"
                           ".shared .u32 inside;\nmov.u64 %rd1, inside;\nret;\n}\n";
  EXPECT_THAT(module_variables(text, "k"), IsEmpty());
}

std::vector<std::string> names_written(const std::string& declarations, const std::string& body) {
  std::vector<std::string> found;
  for (const ModuleVariable& each : module_variables(module_of(declarations, body), "k")) {
    if (each.is_written) found.push_back(each.name);
  }
  return found;
}

TEST(ModuleVariables, AreNotWrittenWhereTheyAreLoadedOnly) {
  const std::string declarations = ".global .b8 table[64] = {1};\n.const .b8 set[64];\n.global .u32 total;\n";
  EXPECT_THAT(names_written(declarations,
                            "mov.u64 %rd1, table;\ncvta.global.u64 %rd2, %rd1;\nadd.s64 %rd3, %rd2, 4;\n"
                            "ld.global.nc.u32 %r1, [%rd3];\nld.const.u32 %r2, [set+4];\nst.global.u32 [%rd4], %r1;\n"
                            "st.global.u32 [total], %r2;\n"),
              ElementsAre("total"));
}

TEST(ModuleVariables, AreWrittenThroughEveryWayOfAnAddress) {
  const std::string declarations = ".global .u32 table[4] = {1};\n";
  const std::string load = "mov.u64 %rd1, table;\nadd.s64 %rd2, %rd1, %rd9;\n";
  for (const std::string use : {"st.global.u32 [%rd2], 1;\n", "atom.global.add.u32 %r1, [%rd2+4], 1;\n",
                                "red.global.add.u32 [%rd2], 1;\n", "st.global.u64 [%rd7], %rd2;\n",
                                "call.uni f, (%rd2);\n", "selp.b64 %rd3, %rd2, %rd7, %p1;\nst.u32 [%rd3], 1;\n",
                                "mov.b64 {%r1, %r2}, %rd2;\nmov.b64 %rd3, {%r1, %r2};\nst.u32 [%rd3], 1;\n"}) {
    EXPECT_THAT(names_written(declarations, load + use), ElementsAre("table")) << use;
  }
  EXPECT_THAT(names_written(declarations, "st.u32 [%rd3], 1;\nmov.u64 %rd3, %rd2;\n" + load), ElementsAre("table"))
      << "in a loop";
}

TEST(ModuleVariables, AreWrittenWhereAddressesMeet) {
  const std::string declarations = ".global .u32 one = 1;\n.global .u32 other = 2;\n.global .u64 where = one;\n";
  EXPECT_THAT(names_written(declarations,
                            "mov.u64 %rd1, one;\nmov.u64 %rd2, other;\nld.u32 %r1, [%rd2];\n"
                            "ld.global.u64 %rd3, [where];\n"),
              ElementsAre("one"));
  EXPECT_THAT(names_written(".global .u32 one = 1;\n.global .u32 other = 2;\n",
                            "mov.u64 %rd1, one;\nmov.u64 %rd1, other;\nld.u32 %r1, [%rd1];\n"),
              ElementsAre("one", "other"));
}

TEST(ModuleVariables, AreWrittenByCodeThatIsNotUnderstood) {
  const std::string text = ptx_header +
                           ".global .u32 total;\n.visible .entry k(.param .u64 .ptr .global .align 4 out, ?) {\n"
                           "ld.global.u32 %r1, [total];\nret;\n}\n";
  const auto found = module_variables(text, "k");
  ASSERT_THAT(names(found), ElementsAre("total"));
  EXPECT_TRUE(found[0].is_written && found[0].is_used);
}

TEST(ModuleVariables, WhatNoAssemblerTakesIsLeftToThat) {
  const std::string declarations = ".global .u64 huge[4294967296][4294967296];\n.global .u32 8;\n.global .u32 total;\n";
  EXPECT_THAT(names(module_variables(module_of(declarations, "mov.u64 %rd1, huge;\nmov.u64 %rd1, total;\n"), "k")),
              ElementsAre("total"));
  EXPECT_THROW(module_variables(module_of("", "ret;\n"), "other"), InvalidInput);
}

}  // namespace
}  // namespace gpushare::ptx
