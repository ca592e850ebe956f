// SPDX-License-Identifier: Apache-2.0
#include "core/transform/ptx/called_functions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/model/errors.hpp"
#include "core/transform/worker/preemptible.hpp"
#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> callees_of_k(const std::string& functions, const std::string& body) {
  const Module module(module_with(body, functions));
  std::vector<std::string> names;
  for (const Function* function : callees(module, module.entry("k"))) names.emplace_back(function->name);
  return names;
}

TEST(CalledFunctions, DirectlyAndThroughOthers) {
  const std::string functions = ".func h() { ret; }\n.func g() { call h, (); ret; }\n.func f() { call g, (); ret; }\n";
  EXPECT_THAT(callees_of_k(functions, "call f, ();\nret;\n"), ElementsAre("f", "g", "h"));
  EXPECT_THAT(callees_of_k(functions, "ret;\n"), IsEmpty());
}

TEST(CalledFunctions, OfAModuleAreToldByName) {
  const std::string ptx = module_with("call f, ();\nret;\n", ".func g() { ret; }\n.func f() { call g, (); ret; }\n");
  EXPECT_THAT(called_functions(ptx, "k"), ElementsAre("f", "g"));
  EXPECT_THROW(called_functions(ptx, "other"), InvalidInput);
}

TEST(CalledFunctions, TheWholeNameCounts) {
  EXPECT_THAT(callees_of_k(".func m() { ret; }\n.func f() { ret; }\n", "mov.u64 %rd1, f2;\nret;\n"), IsEmpty());
}

TEST(CalledFunctions, ACallThroughAPointerMayGoToAnyFunction) {
  EXPECT_THAT(callees_of_k(".func f() { ret; }\n.func g() { ret; }\n.global .u64 table[1] = {g};\n",
                           "proto: .callprototype _ ();\ncall %rd1, (), proto;\nret;\n"),
              ElementsAre("f", "g"));
}

TEST(CalledFunctions, ByAnotherName) {
  const std::string functions =
      ".func g() { .reg .b32 %r<2>; mov.u32 %r1, %ctaid.x; ret; }\n.func f();\n.alias f, g;\n";
  EXPECT_THAT(callees_of_k(functions, "call f, ();\nret;\n"), ElementsAre("g"));
  EXPECT_THAT(make_preemptible(module_with("call f, ();\nret;\n", functions)).ptx,
              HasSubstr("ld.shared.b32 \t%r1, [gpushare_block_index+0];"));
}

TEST(CalledFunctions, ABarrierCountsHoweverDeepItIs) {
  const std::string functions = ".func g() { bar.sync 0; ret; }\n.func f() { call g, (); ret; }\n";
  const std::string early = "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n@%p1 ret;\n";
  const auto is_worker = [&](const std::string& body) {
    return make_preemptible(module_with(body, functions)).kernels.at(0).preemptible();
  };
  EXPECT_FALSE(is_worker(early + "call f, ();\nret;\n"));
  EXPECT_FALSE(is_worker(early + "mov.u64 %rd1, f;\nproto: .callprototype _ ();\ncall %rd1, (), proto;\nret;\n"));
  EXPECT_TRUE(is_worker("call f, ();\n" + early + "ret;\n"));
}

TEST(CalledFunctions, ABarrierThatOnlySomeThreadsReachInThemCountsToo) {
  const auto is_worker = [](const std::string& condition) {
    const std::string function = ".func f(.param .b32 n) { .reg .b32 %r<3>; .reg .pred %p<2>; " + condition +
                                 " setp.eq.u32 %p1, %r1, 0;\n@%p1 ret;\nbar.sync 0;\nret; }\n";
    return make_preemptible(module_with("call f, (0);\nret;\n", function)).kernels.at(0).preemptible();
  };
  EXPECT_FALSE(is_worker("mov.u32 %r1, %tid.x;"));
  EXPECT_FALSE(is_worker("ld.param.u32 %r1, [n];"));
  EXPECT_TRUE(is_worker("mov.u32 %r1, %ntid.x;"));
}

}  // namespace
}  // namespace gpushare::ptx
