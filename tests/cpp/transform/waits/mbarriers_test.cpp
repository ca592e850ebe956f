// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/mbarriers.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/transform/worker/preemptible.hpp"
#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

const std::string leader = "mov.u32 %r1, %tid.x;\nsetp.ne.s32 %p1, %r1, 0;\n";
const std::string declared = ".shared .align 8 .b64 a;\n.shared .align 8 .b64 b;\n";

/// The line, counted from that of the first statement, of the first mbarrier that may be left valid; 0 without one.
std::size_t lasting(const std::string& body) {
  const Module module(module_with(body, declared));
  const Function& kernel = module.entry("k");
  const auto found = find_lasting_mbarriers(module, kernel);
  if (found.empty()) return 0;
  constexpr std::size_t declarations = 4;
  return module.line(found.front()) - module.line(kernel.body.begin) - declarations;
}

std::string init(const std::string& address) { return "mbarrier.init.shared.b64 [" + address + "], 32;\n"; }
std::string inval(const std::string& address) { return "mbarrier.inval.shared.b64 [" + address + "];\n"; }

TEST(Mbarriers, EachHasItsOwnEnd) {
  EXPECT_EQ(lasting(init("a") + inval("a") + "ret;\n"), 0u);
  EXPECT_EQ(lasting(init("a") + "ret;\n"), 1u);
  EXPECT_EQ(lasting(init("a") + init("b") + inval("a") + "ret;\n"), 2u);
  EXPECT_EQ(lasting(init("a") + init("b") + inval("b") + inval("a") + "ret;\n"), 0u);
  EXPECT_EQ(lasting(init("a") + init("a+8") + inval("a") + inval("a") + "ret;\n"), 2u);
  EXPECT_EQ(lasting(init("a") + inval("a") + init("a") + "ret;\n"), 3u);
}

TEST(Mbarriers, WhatOneTaskLeavesTheNextOneInvalidates) {
  const std::string body = init("a") + "@!%p1 " + init("b") + inval("a") + "ret;\n";
  const std::string ptx = make_preemptible(module_with(body, declared)).ptx;
  EXPECT_NE(
      ptx.find(
          "mbarrier.init.shared.b64 [a], 32;\n@!%gpushare_again bra \t$gpushare_first_1;\n"
          "\t@!%p1 mbarrier.inval.shared.b64 \t[b];\n$gpushare_first_1:\n\t@!%p1 mbarrier.init.shared.b64 [b], 32;"),
      std::string::npos)
      << ptx;
}

TEST(Mbarriers, ACalledFunctionThatLeavesOneIsRefused) {
  const Transformed transformed =
      make_preemptible(module_with("call f, ();\nret;\n", declared + ".func f() { " + init("a") + "ret; }\n"));
  const auto* refusal = std::get_if<Refusal>(&transformed.kernels.at(0).outcome);
  ASSERT_NE(refusal, nullptr);
  EXPECT_NE(refusal->reason.find("mbarrier"), std::string::npos);
}

TEST(Mbarriers, TheSameAddressInOtherRegistersIsTheSameObject) {
  const std::string addresses = "mov.u32 %r2, a;\nadd.s32 %r3, %r2, 8;\nmov.u32 %r4, a;\nadd.s32 %r5, %r4, 8;\n";
  EXPECT_EQ(lasting(addresses + init("%r3") + inval("%r5") + "ret;\n"), 0u);
  EXPECT_EQ(lasting(addresses + init("%r2") + inval("a") + "ret;\n"), 0u);
  EXPECT_EQ(lasting(addresses + init("%r2+16") + inval("%r4+16") + "ret;\n"), 0u);
  EXPECT_EQ(lasting(addresses + init("%r3") + inval("%r4") + "ret;\n"), 5u);
}

TEST(Mbarriers, AnAddressThatChangesIsNotKnown) {
  const std::string loop = "mov.u32 %r2, a;\n$L:\n" + init("%r2") + inval("%r2");
  EXPECT_EQ(lasting(loop + "add.s32 %r2, %r2, 8;\n@%p1 bra $L;\nret;\n"), 3u);
  EXPECT_EQ(lasting("$L:\nld.shared.u32 %r2, [b];\n" + init("%r2") + inval("%r2") + "@%p1 bra $L;\nret;\n"), 3u);
  EXPECT_EQ(lasting("ld.shared.u32 %r2, [b];\n" + init("%r2") + inval("%r2") + "ret;\n"), 0u);
  EXPECT_EQ(lasting("mov.u32 %v.x, a;\n" + init("%v.x") + inval("%v.x") + "ret;\n"), 2u);
}

TEST(Mbarriers, EveryWayToTheEndCounts) {
  EXPECT_EQ(lasting(leader + init("a") + "@%p1 bra $L;\n" + inval("a") + "$L:\nret;\n"), 3u);
  EXPECT_EQ(lasting(leader + init("a") + "@%p1 ret;\n" + inval("a") + "ret;\n"), 3u);
  EXPECT_EQ(lasting(leader + init("a") + "@%p1 trap;\n" + inval("a") + "ret;\n"), 0u) << "a trap ends the grid";
  EXPECT_EQ(lasting(leader + init("a") + "@%p1 bra $L;\n" + inval("a") + "ret;\n$L:\n" + inval("a") + "ret;\n"), 0u);
  EXPECT_EQ(
      lasting(leader + init("a") + "$T: .branchtargets $A, $B;\nbrx.idx %r1, $T;\n$A:\n" + inval("a") + "$B:\nret;\n"),
      3u);
}

TEST(Mbarriers, AnInitializationUnderTheSameConditionIsAccepted) {
  const std::string by_branch = leader + "@%p1 bra $L;\n" + init("a") + "$L:\nbar.sync 0;\n";
  EXPECT_EQ(lasting(by_branch + "@%p1 bra $E;\n" + inval("a") + "$E:\nret;\n"), 0u);
  EXPECT_EQ(lasting(by_branch + "@!%p1 bra $E;\n" + inval("a") + "$E:\nret;\n"), 4u);
  EXPECT_EQ(lasting(by_branch + "@%p1 ret;\n" + inval("a") + "ret;\n"), 0u);
  EXPECT_EQ(lasting(by_branch + "setp.eq.s32 %p2, %r1, 0;\n@%p2 bra $I;\nret;\n$I:\n" + inval("a") + "ret;\n"), 0u);
  EXPECT_EQ(lasting(by_branch + "setp.ne.s32 %p2, %r1, 1;\n@%p2 bra $E;\n" + inval("a") + "$E:\nret;\n"), 4u);
  const std::string guarded = leader + "@!%p1 " + init("a") + "bar.sync 0;\n";
  EXPECT_EQ(lasting(guarded + "@!%p1 " + inval("a") + "ret;\n"), 0u);
  EXPECT_EQ(lasting(guarded + "not.pred %p2, %p1;\n@%p2 " + inval("a") + "ret;\n"), 0u);
  EXPECT_EQ(lasting(guarded + "@%p1 " + inval("a") + "ret;\n"), 3u);
  EXPECT_EQ(lasting(guarded + "setp.ne.s32 %p1, %r1, 5;\n@!%p1 " + inval("a") + "ret;\n"), 3u) << "it has changed";
}

TEST(Mbarriers, NotEqualIsTheOppositeOfEqualForIntegersOnly) {
  for (const char* type : {"s32", "u32", "b32"}) {
    const std::string operands = std::string(".") + type + " %p";
    const std::string compared = "setp.eq" + operands + "1, %r1, %r2;\nsetp.ne" + operands + "2, %r1, %r2;\n";
    EXPECT_EQ(lasting(compared + "@!%p1 " + init("a") + "@%p2 " + inval("a") + "ret;\n"), 0u) << type;
  }
  for (const char* type : {"f32", "ftz.f32", "f64", "f16", "bf16"}) {
    const std::string operands = std::string(".") + type + " %p";
    const std::string compared = "setp.eq" + operands + "1, %f1, %f2;\nsetp.ne" + operands + "2, %f1, %f2;\n";
    EXPECT_EQ(lasting(compared + "@!%p1 " + init("a") + "@%p2 " + inval("a") + "ret;\n"), 3u) << type << ": NaN";
    EXPECT_EQ(lasting(compared + "@%p2 " + init("a") + "@%p2 " + inval("a") + "ret;\n"), 0u) << type;
  }
}

}  // namespace
}  // namespace gpushare::ptx
