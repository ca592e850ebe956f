// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/grid_waits.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/transform/worker/preemptible.hpp"
#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

bool waits_for_all(const std::string& body, const std::string& functions = "") {
  const Transformed transformed = make_preemptible(module_with(body, functions));
  const auto* refusal = std::get_if<Refusal>(&transformed.kernels.at(0).outcome);
  return refusal != nullptr && refusal->needs_all_blocks;
}

/// A loop that goes on until the comparison of what was read, %r1, says otherwise.
std::string until(const std::string& comparison, const std::string& read = "ld.volatile.global.u32 %r1, [%rd1];") {
  return "$L:\n" + read + "\n" + comparison + "\n@%p1 bra $L;\n";
}

const std::string arrive = "atom.global.add.u32 %r5, [%rd1], 1;\n";

TEST(GridWaits, ACountThatIsHeldAgainstTheSizeOfTheGrid) {
  const std::string size = "mov.u32 %r2, %nctaid.x;\n";
  EXPECT_TRUE(waits_for_all(size + arrive + until("setp.lt.u32 %p1, %r1, %r2;") + "ret;\n"));
  EXPECT_TRUE(waits_for_all(size + "mul.lo.u32 %r3, %r2, 5;\n" + until("setp.lt.u32 %p1, %r1, %r3;") + "ret;\n"));
  EXPECT_TRUE(
      waits_for_all(until("setp.lt.u32 %p1, %r1, %nctaid.x;", "atom.global.add.u32 %r1, [%rd1], 0;") + "ret;\n"));
  EXPECT_TRUE(waits_for_all(until("setp.lt.u32 %p1, %r1, %nctaid.x;", "ld.global.cg.u32 %r1, [%rd1];") + "ret;\n"));
}

TEST(GridWaits, AGoalThatIsAParameter) {
  const std::string goal = "ld.param.u32 %r2, [k_param_0];\n";
  EXPECT_TRUE(waits_for_all(goal + until("setp.ne.u32 %p1, %r1, %r2;") + "ret;\n"));
  EXPECT_TRUE(
      waits_for_all(goal + until("setp.ne.u32 %p1, %r1, %r2;", "membar.gl;\nld.global.u32 %r1, [%rd1];") + "ret;\n"));
}

TEST(GridWaits, TheLastOfAllLetsTheOthersGo) {
  const std::string last = arrive + "mov.u32 %r2, %nctaid.x;\nsub.u32 %r3, %r2, 1;\nsetp.eq.u32 %p2, %r5, %r3;\n";
  EXPECT_TRUE(
      waits_for_all(last + "@%p2 st.volatile.global.u32 [%rd2], 1;\n" + until("setp.eq.u32 %p1, %r1, 0;") + "ret;\n"));
  EXPECT_FALSE(waits_for_all(last + "@%p2 st.global.u32 [%rd2], 1;\nret;\n")) << "the last block adds up";
}

TEST(GridWaits, ABarrierBySenseReversal) {
  const std::string arrival =
      "mov.u32 %r2, %nctaid.x;\nsub.u32 %r3, -2147483647, %r2;\natom.global.add.u32 %r4, [%rd1], %r3;\n";
  EXPECT_TRUE(waits_for_all(arrival + until("xor.b32 %r6, %r1, %r4;\nsetp.gt.s32 %p1, %r6, -1;") + "ret;\n"));
}

TEST(GridWaits, WhatIsPolledIsCountedByBlocks) {
  const std::string goal = "ld.const.u32 %r2, [goal];\n";
  EXPECT_TRUE(waits_for_all(goal + arrive + until("setp.lt.u32 %p1, %r1, %r2;") + "ret;\n", ".const .u32 goal;\n"));
}

TEST(GridWaits, TheSizeMayBeLeftInSharedMemory) {
  const std::string left = "mov.u32 %r2, %nctaid.x;\nst.shared.u32 [s], %r2;\nbar.sync 0;\nld.shared.u32 %r3, [s];\n";
  EXPECT_TRUE(waits_for_all(left + until("setp.lt.u32 %p1, %r1, %r3;") + "ret;\n", ".shared .u32 s;\n"));
}

TEST(GridWaits, OnlyBlocksWithinTheSizeWaitForTheNextOne) {
  const std::string guard =
      "mov.u32 %r2, %nctaid.x;\nmov.u32 %r3, %ctaid.x;\nadd.u32 %r4, %r3, 1;\n"
      "setp.ge.u32 %p2, %r4, %r2;\n@%p2 bra $E;\n";
  EXPECT_TRUE(waits_for_all(guard + until("setp.eq.u32 %p1, %r1, 0;") + "$E:\nret;\n"));
}

TEST(GridWaits, ItMayBeInACalledFunction) {
  const std::string f =
      ".func f() { .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>; $L: ld.volatile.global.u32 %r1, [%rd1]; "
      "mov.u32 %r2, %nctaid.x; setp.lt.u32 %p1, %r1, %r2; @%p1 bra $L; ret; }\n";
  EXPECT_TRUE(waits_for_all("call f, ();\nret;\n", f));
}

TEST(GridWaits, BlocksThatWaitForEarlierOnesAreWorkers) {
  const std::string ticket = arrive + "sub.u32 %r6, %r5, 1;\nmul.wide.u32 %rd2, %r6, 4;\n";
  EXPECT_FALSE(
      waits_for_all(ticket + until("setp.eq.u32 %p1, %r1, 0;", "ld.volatile.global.u32 %r1, [%rd2];") + "ret;\n"))
      << "look-back";
  EXPECT_FALSE(waits_for_all(until("setp.ne.u32 %p1, %r1, 0;", "atom.global.cas.b32 %r1, [%rd1], 0, 1;") + "ret;\n"))
      << "lock";
  const std::string queue =
      "ld.param.u32 %r2, [k_param_0];\n" + until("setp.lt.u32 %p1, %r1, %r2;", "atom.global.add.u32 %r1, [%rd1], 1;");
  EXPECT_FALSE(waits_for_all(queue + "ret;\n")) << "tasks are drawn until there are none";
}

TEST(GridWaits, ABlocksOwnNumberInAGridOfTwoDimensionsIsNoSize) {
  EXPECT_FALSE(
      waits_for_all("mov.u32 %r2, %nctaid.x;\nmov.u32 %r3, %ctaid.y;\nmov.u32 %r4, %ctaid.x;\n"
                    "mad.lo.u32 %r5, %r3, %r2, %r4;\n" +
                    until("setp.eq.u32 %p1, %r1, 0;\nsetp.gt.u32 %p2, %r5, 1;") + "ret;\n"));
}

TEST(GridWaits, TilesInStridesOfTheGridWaitForBlocksBehind) {
  EXPECT_TRUE(
      waits_for_all("mov.u32 %r5, %ctaid.x;\n$T:\n" + until("setp.eq.u32 %p1, %r1, 0;") +
                    "mov.u32 %r2, %nctaid.x;\nadd.u32 %r5, %r5, %r2;\nsetp.lt.u32 %p2, %r5, 9;\n@%p2 bra $T;\nret;\n"));
}

}  // namespace
}  // namespace gpushare::ptx
