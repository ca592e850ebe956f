// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/warp_waits.hpp"

#include <gtest/gtest.h>

#include <array>

#include "core/transform/worker/preemptible.hpp"
#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

std::string verdict(const std::string& body, const std::string& functions = "", const std::string& directives = "") {
  const Transformed transformed = make_preemptible(module_with(body, functions, directives));
  for (const KernelVerdict& kernel : transformed.kernels) {
    const auto* refusal = std::get_if<Refusal>(&kernel.outcome);
    if (refusal != nullptr) return refusal->reason + " @" + std::to_string(refusal->line);
  }
  return "worker";
}

std::string refused(const std::string& operation, int line) {
  return "some lanes of a warp may return before others wait for them (" + operation + ") @" + std::to_string(line);
}

/// Some threads return by what %p1 says; the others vote. `made`: how %p1 is made, in %r1 is threadIdx.x.
std::string vote_unless(const std::string& made, const std::string& mask = "-1") {
  return "mov.u32 %r1, %tid.x;\n" + made + "\n@%p1 ret;\nvote.sync.ballot.b32 %r8, %p2, " + mask + ";\nret;\n";
}

const std::string early = "setp.gt.u32 %p1, %r1, 5;";
/// %r4 = blockIdx.x * blockDim.x + threadIdx.x
const std::string global = "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmad.lo.s32 %r4, %r2, %r3, %r1;\n";

TEST(WarpWaits, AWaitForLanesThatMayHaveReturnedIsRefused) {
  EXPECT_EQ(verdict(vote_unless(early)), refused("vote", 15));
  const std::string begin = "mov.u32 %r1, %tid.x;\n" + early + "\n@%p1 bra $L;\n";
  for (const std::string wait :
       {"shfl.sync.down.b32 %r2|%p2, %r3, 1, 31, -1", "match.any.sync.b32 %r2, %r3, -1", "elect.sync _|%p2, -1",
        "redux.sync.add.s32 %r2, %r3, 0xffffffff", "bar.warp.sync -1", "bar.warp.sync 0x0000ffff"}) {
    const std::string name = wait.starts_with("bar") ? "bar.warp.sync" : wait.substr(0, wait.find('.'));
    EXPECT_EQ(verdict(begin + wait + ";\n$L:\nret;\n"), refused(name, 15));
    EXPECT_EQ(verdict(begin + "$L:\n" + wait + ";\nret;\n"), "worker") << wait;
  }
  EXPECT_EQ(verdict(begin + "mma.sync.aligned.m8n8k16.row.col {%r1}, {%r2}, {%r3}, {%r4};\n$L:\nret;\n"), "worker");
}

TEST(WarpWaits, AGuardPartsLanesAsABranchDoes) {
  EXPECT_EQ(verdict("mov.u32 %r1, %tid.x;\n" + early + "\n@%p1 bar.warp.sync -1;\nret;\n"),
            refused("bar.warp.sync", 14));
}

TEST(WarpWaits, ASkippedWaitBeforeABarrierOfAllIsAccepted) {
  const auto skipped = [](const std::string& before, const std::string& within, const std::string& behind) {
    return verdict("mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ntid.x;\n" + before + early + "\n@%p1 bra $L;\n" + within +
                   "bar.warp.sync %r2;\n$L:\n" + behind + "ret;\n");
  };
  const std::string some_return = "setp.eq.u32 %p3, %r1, 9;\n@%p3 ret;\n";
  EXPECT_EQ(skipped("", "", "bar.sync 0;\n"), "worker");
  EXPECT_EQ(skipped("", "", "bar.sync 0;\n" + some_return), "worker");
  EXPECT_EQ(skipped("", "", "barrier.red.or.pred %p4, 0, %p5;\n"), "worker");
  EXPECT_EQ(skipped("", "$T:\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, %r1;\n@%p2 bra $T;\n", "bar.sync 0;\n"),
            "worker");
  EXPECT_NE(skipped("", "", ""), "worker");
  EXPECT_NE(skipped("", "", some_return + "bar.sync 0;\n"), "worker") << "before the barrier";
  EXPECT_NE(skipped(some_return, "", "bar.sync 0;\n"), "worker") << "before all of it";
  EXPECT_NE(skipped("", "", "bar.arrive 0, 64;\n"), "worker") << "waits for nothing";
  EXPECT_NE(skipped("", "", "bar.sync 1, 64;\n"), "worker") << "for others";
  EXPECT_NE(skipped("", "", "@%p5 bar.sync 0;\n"), "worker") << "perhaps";
  EXPECT_NE(skipped("", "", "setp.eq.u32 %p4, %r2, 64;\n@%p4 bra $M;\nbar.sync 0;\n$M:\n"), "worker") << "one way";
  EXPECT_NE(skipped("", "bar.sync 0;\n", "bar.sync 0;\n"), "worker") << "those who wait may be a barrier behind";
}

TEST(WarpWaits, ALoopExitBeforeABarrierOfAllIsAccepted) {
  const auto loop = [](const std::string& body, const std::string& behind) {
    return verdict("mov.u32 %r1, %tid.x;\n$T:\n" + body +
                   "shfl.sync.down.b32 %r3, %r4, 4, 31, -1;\nadd.u32 %r1, %r1, 30;\n"
                   "setp.lt.u32 %p2, %r1, 1000;\n@%p2 bra $T;\n" +
                   behind + "ret;\n");
  };
  EXPECT_EQ(loop("", "bar.sync 0;\n"), "worker");
  EXPECT_NE(loop("", ""), "worker");
  EXPECT_NE(loop("bar.sync 0;\n", "bar.sync 0;\n"), "worker") << "the barriers may be met by each other";
}

TEST(WarpWaits, WhatPartsTheBlockBetweenWarpsIsFine) {
  for (const std::string whole :
       {"setp.ge.u32 %p1, %r1, 32;", "setp.lt.s32 %p1, %r1, 64;", "setp.gt.u32 %p1, %r1, 31;",
        "setp.gt.s32 %p1, 96, %r1;", "setp.lt.u32 %p1, 95, %r1;", "mov.u32 %r2, WARP_SZ;\nsetp.ge.u32 %p1, %r1, %r2;",
        "shr.u32 %r2, %r1, 5;\nsetp.eq.u32 %p1, %r2, 0;", "and.b32 %r2, %r1, 992;\nsetp.eq.u32 %p1, %r2, 0;",
        "div.u32 %r2, %r1, 96;\nsetp.eq.u32 %p1, %r2, 0;", "bfe.u32 %r2, %r1, 5, 2;\nsetp.eq.u32 %p1, %r2, 0;",
        "mov.u32 %r3, %ctaid.x;\nbfi.b32 %r2, %r3, %r1, 7, 25;\nsetp.gt.u32 %p1, %r2, 95;",
        "add.s32 %r2, %r1, 31;\nsetp.gt.u32 %p1, %r2, 62;", "mov.u32 %r2, %warpid;\nsetp.eq.u32 %p1, %r2, 0;"}) {
    EXPECT_EQ(verdict(vote_unless(whole)), "worker") << whole;
  }
  for (const std::string within :
       {"setp.ge.u32 %p1, %r1, 33;", "setp.gt.u32 %p1, %r1, 32;", "setp.eq.u32 %p1, %r1, 32;",
        "setp.le.u32 %p1, %r1, 64;", "shr.u32 %r2, %r1, 4;\nsetp.eq.u32 %p1, %r2, 0;",
        "and.b32 %r2, %r1, 48;\nsetp.eq.u32 %p1, %r2, 0;", "add.s32 %r2, %r1, 30;\nsetp.gt.u32 %p1, %r2, 62;",
        "setp.lt.and.u32 %p1, %r1, 32, %p3;\nsetp.eq.u32 %p1, %r1, 3;",
        "mov.u32 %r2, %laneid;\nsetp.eq.u32 %p1, %r2, 0;"}) {
    EXPECT_NE(verdict(vote_unless(within)), "worker") << within;
  }
}

TEST(WarpWaits, TheWarpOfAGlobalIndexIsFineAndTheIndexIsNot) {
  EXPECT_NE(verdict(vote_unless(global + "ld.param.u32 %r5, [k_param_0];\nsetp.ge.s32 %p1, %r4, %r5;")), "worker");
  const std::string divided =
      "shr.s32 %r5, %r4, 31;\nshr.u32 %r6, %r5, 27;\nadd.s32 %r7, %r4, %r6;\nshr.s32 %r8, %r7, 5;\n"
      "ld.param.u32 %r2, [k_param_0];\nsetp.ge.s32 %p1, %r8, %r2;";
  EXPECT_EQ(verdict(vote_unless(global + divided)), "worker");
  const std::string shifted =
      "shl.b32 %r2, %r2, 7;\nor.b32 %r4, %r2, %r1;\nshr.u32 %r5, %r4, 5;\n"
      "setp.ge.u32 %p1, %r5, 9;";
  EXPECT_EQ(verdict(vote_unless("mov.u32 %r2, %ctaid.x;\n" + shifted)), "worker");
  EXPECT_NE(verdict(vote_unless("mov.u32 %r2, %laneid;\n" + shifted)), "worker");
}

/// The blocks for which it is a worker.
BlockShapes blocks_of(const std::string& body, const std::string& directives = "") {
  const Transformed transformed = make_preemptible(module_with(body, "", directives));
  return std::get<WorkerNeeds>(transformed.kernels.at(0).outcome).blocks;
}

TEST(WarpWaits, RowsAreWholeWarpsInBlocksThatAreAsWide) {
  const std::string by_row = vote_unless("mov.u32 %r2, %tid.y;\nsetp.eq.u32 %p1, %r2, 0;");
  EXPECT_EQ(blocks_of(by_row).kind, BlockShapes::Kind::Lines);
  EXPECT_EQ(verdict(by_row, "", "\n.reqntid 32, 8, 1\n"), "worker");
  EXPECT_EQ(verdict(by_row, "", "\n.reqntid 48\n"), "worker");
  EXPECT_NE(verdict(by_row, "", "\n.reqntid 16, 16, 1\n"), "worker");
}

TEST(WarpWaits, ALinearIndexCountsThreadsHoweverWideTheBlockIs) {
  const std::string flat = "mov.u32 %r2, %tid.y;\nmov.u32 %r3, %ntid.x;\nmad.lo.u32 %r4, %r2, %r3, %r1;\n";
  EXPECT_EQ(blocks_of(vote_unless(flat + "setp.lt.u32 %p1, %r4, 32;")).kind, BlockShapes::Kind::Flat);
  EXPECT_EQ(blocks_of(vote_unless(flat + "mul.lo.u32 %r5, %r2, 32;\nsetp.lt.u32 %p1, %r5, 64;")).kind,
            BlockShapes::Kind::Lines);
}

TEST(WarpWaits, ALinearIndexByANumberIsGoodForBlocksOfThatWidth) {
  for (const std::string row : {"mul.lo.u32 %r4, %r2, 16;", "shl.b32 %r4, %r2, 4;"}) {
    const BlockShapes blocks = blocks_of(vote_unless("mov.u32 %r2, %tid.y;\n" + row +
                                                         "\nadd.u32 %r5, %r4, %r1;\nshr.u32 %r6, %r5, 5;\n"
                                                         "setp.eq.u32 %p1, %r6, 1;",
                                                     "-1"),
                                         "\n.reqntid 16, 16\n");
    EXPECT_EQ(blocks.kind, BlockShapes::Kind::OneWidth) << row;
    EXPECT_EQ(blocks.width, 16) << row;
  }
}

TEST(WarpWaits, AnIndexOverBlocksIsGoodForBlocksOfWholeWarps) {
  EXPECT_EQ(blocks_of(vote_unless(global + "setp.lt.u32 %p1, %r4, 64;")).kind, BlockShapes::Kind::WholeWarps);
}

TEST(BlockShapes, SuitTheBlocksForWhichTheyHold) {
  using Kind = BlockShapes::Kind;
  const auto suits = [](BlockShapes shapes) {
    std::string found;
    for (const auto& [x, y, z] : {std::array{48, 1, 1}, {64, 1, 1}, {16, 16, 1}, {32, 4, 1}, {32, 2, 2}, {16, 2, 2}}) {
      found += shapes.suit(x, y, z) ? '1' : '0';
    }
    return found;
  };
  EXPECT_EQ(suits({Kind::Flat}), "111110");
  EXPECT_EQ(suits({Kind::Lines}), "110110");
  EXPECT_EQ(suits({Kind::WholeWarps}), "010110");
  EXPECT_EQ(suits({Kind::OneWidth, 16}), "001000");
}

TEST(WarpWaits, WhatIsAddedToARowMakesItNoLinearIndex) {
  const std::string row = "mov.u32 %r2, %tid.y;\nmov.u32 %r3, %ntid.x;\n";
  for (const std::string made :
       {"add.u32 %r4, %r2, 1;\nmad.lo.u32 %r5, %r4, %r3, %r1;", "shl.b32 %r4, %r2, 1;\nmad.lo.u32 %r5, %r4, %r3, %r1;",
        "mul.lo.u32 %r4, %r2, %r3;\nadd.u32 %r4, %r4, %r4;\nadd.u32 %r5, %r4, %r1;",
        "mov.u32 %r6, %laneid;\nmad.lo.u32 %r5, %r2, %r3, %r6;"}) {
    const std::string body = vote_unless(row + made + "\nsetp.lt.u32 %p1, %r5, 32;");
    EXPECT_NE(verdict(body, "", "\n.reqntid 8, 8, 1\n"), "worker") << made;
  }
  const std::string linear =
      "mov.u32 %r4, %tid.z;\nmov.u32 %r5, %ntid.y;\nmad.lo.u32 %r6, %r4, %r5, %r2;\n"
      "mad.lo.u32 %r7, %r6, %r3, %r1;\nsetp.lt.u32 %p1, %r7, 32;";
  EXPECT_EQ(verdict(vote_unless(row + linear), "", "\n.reqntid 8, 8, 1\n"), "worker");
}

TEST(WarpWaits, AnUnsignedIndexMayBeLessThanNothing) {
  EXPECT_NE(verdict(vote_unless("add.s32 %r2, %r1, -1;\nsetp.gt.u32 %p1, %r2, 62;")), "worker");
  EXPECT_EQ(verdict(vote_unless("add.s32 %r2, %r1, -1;\nsetp.gt.s32 %p1, %r2, 62;")), "worker");
  EXPECT_NE(verdict(vote_unless("add.s32 %r2, %r1, -64;\ndiv.s32 %r3, %r2, 32;\nsetp.eq.s32 %p1, %r3, 0;")), "worker");
}

TEST(WarpWaits, BlocksWithoutAWaitMayHaveAnyShape) {
  EXPECT_EQ(blocks_of("ret;\n").kind, BlockShapes::Kind::Any);
  EXPECT_TRUE(blocks_of("ret;\n").suit(4, 4, 4));
  EXPECT_EQ(verdict("ret;\n", "", "\n.reqntid 4, 4, 4\n"), "worker");
}

TEST(WarpWaits, AComponentIsNotTheVector) {
  EXPECT_NE(verdict(".reg .v2 .u32 %v;\nmov.u32 %v.x, %tid.x;\nmov.u32 %v.y, 0;\nsetp.ge.u32 %p1, %v.x, 20;\n"
                    "@%p1 ret;\nbar.warp.sync -1;\nret;\n"),
            "worker");
}

TEST(WarpWaits, OctalNumbers) {
  EXPECT_EQ(verdict(vote_unless("setp.ge.u32 %p1, %r1, 0100;")), "worker");
  EXPECT_NE(verdict(vote_unless("setp.ge.u32 %p1, %r1, 064;")), "worker");
}

TEST(WarpWaits, OnlyTheLanesOfTheMaskHaveToBeThere) {
  const auto behind = [](const std::string& condition, const std::string& mask) {
    return verdict("mov.u32 %r1, %tid.x;\nmov.u32 %r2, %laneid;\nmov.b32 %r6, " + mask + ";\n" + condition +
                   "\n@%p1 bra $L;\nshfl.sync.down.b32 %r3, %r4, 4, 31, %r6;\n$L:\nret;\n");
  };
  for (const std::string index : {"%r1", "%r2"}) {
    EXPECT_EQ(behind("setp.ge.u32 %p1, " + index + ", 8;", "255"), "worker");
    EXPECT_EQ(behind("setp.gt.u32 %p1, " + index + ", 15;", "0xff"), "worker");
    EXPECT_EQ(behind("setp.ne.u32 %p1, " + index + ", 0;", "1"), "worker");
    EXPECT_NE(behind("setp.ge.u32 %p1, " + index + ", 7;", "255"), "worker");
    EXPECT_NE(behind("setp.ne.u32 %p1, " + index + ", 0;", "3"), "worker");
    EXPECT_NE(behind("setp.ge.u32 %p1, " + index + ", 8;", "-1"), "worker");
  }
  EXPECT_NE(behind("mul.lo.u32 %r7, %r1, 3;\nsetp.ge.u32 %p1, %r7, 8;", "255"), "worker");
}

TEST(WarpWaits, AnInnerRegisterDoesNotHideTheOuterOne) {
  EXPECT_NE(verdict("mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n"
                    "{ .reg .pred %p<9>; setp.gt.u32 %p1, %ntid.x, 5; }\n@%p1 ret;\nbar.warp.sync -1;\nret;\n"),
            "worker");
}

TEST(WarpWaits, ATicketThatOneThreadLeavesInSharedMemoryIsTheSameForTheWarp) {
  EXPECT_EQ(
      verdict("mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra $L;\natom.global.add.u32 %r3, [%rd1], 1;\n"
              "st.shared.u32 [t], %r3;\n$L:\nbar.sync 0;\nld.shared.u32 %r4, [t];\nsetp.ge.u32 %p1, %r4, 9;\n"
              "@%p1 ret;\nbar.warp.sync -1;\nret;\n",
              ".shared .b32 t;\n"),
      "worker");
}

TEST(WarpWaits, WhatAllThreadsStoreInMemoryOfTheirOwnIsTheSame) {
  const std::string body =
      "mov.u32 %r3, %ctaid.x;\nst.local.u32 [%rd1], %r3;\n{more}ld.local.u32 %r2, [%rd1];\n"
      "setp.eq.u32 %p1, %r2, 0;";
  const auto with = [&](const std::string& more) {
    std::string text = body;
    return verdict(vote_unless(text.replace(text.find("{more}"), 6, more)));
  };
  EXPECT_EQ(with(""), "worker");
  EXPECT_NE(with("st.local.u32 [%rd2], %r1;\n"), "worker");
}

TEST(WarpWaits, ARegisterIsWhatWasWrittenToItLast) {
  // As compilers have it: the index goes on in the same register, behind its warp's number.
  const std::string strided = "setp.ge.u32 %p1, %r2, 2;\n@%p1 ret;\nvote.sync.any.pred %p3, %p2, -1;\n";
  const std::string loop = "$T:\nadd.u32 %r1, %r1, 64;\nsetp.lt.u32 %p2, %r1, 1000;\n@%p2 bra $T;\n";
  const std::string warp = "shr.u32 %r2, %r1, 5;\n";
  EXPECT_EQ(verdict("mov.u32 %r1, %tid.x;\n" + warp + strided + loop + "ret;\n"), "worker");
  EXPECT_NE(verdict("mov.u32 %r1, %tid.x;\n" + loop + warp + strided + "ret;\n"), "worker");
  EXPECT_NE(verdict("mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p2, %r1, 3;\n@%p2 mov.u32 %r1, 64;\n" + warp + strided),
            "worker");
}

TEST(WarpWaits, WhatTheWholeWarpIsToldIsTheSameForAll) {
  const std::string begin = "mov.u32 %r1, %laneid;\nsetp.eq.u32 %p2, %r1, 3;\nmov.u32 %r5, -1;\n";
  EXPECT_EQ(verdict(begin + vote_unless("vote.sync.all.pred %p1, %p2, %r5;")), "worker");
  EXPECT_NE(verdict(begin + vote_unless("vote.sync.all.pred %p1, %p2, 0xffff;")), "worker");
  const auto told = [&](const std::string& shuffle) {
    return verdict(begin + vote_unless(shuffle + "\nsetp.eq.u32 %p1, %r2, 0;"));
  };
  EXPECT_EQ(told("shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;"), "worker");
  EXPECT_NE(told("shfl.sync.idx.b32 %r2, %r1, 0, 0x1c1f, -1;"), "worker");
  EXPECT_NE(told("shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;"), "worker");
}

TEST(WarpWaits, LanesLoadTheSameFromTheSamePlaceUnlessItIsTheirOwn) {
  const auto loaded = [](const std::string& load) { return verdict(vote_unless(load + "\nsetp.eq.u32 %p1, %r2, 0;")); };
  EXPECT_EQ(loaded("ld.global.u32 %r2, [%rd1];"), "worker");
  EXPECT_EQ(loaded("ld.shared.u32 %r2, [%r5];"), "worker");
  EXPECT_NE(loaded("ld.shared.u32 %r2, [%r1];"), "worker");
  EXPECT_NE(loaded("ld.volatile.global.u32 %r2, [%rd1];"), "worker");
}

TEST(WarpWaits, MasksFromAVoteAreAccepted) {
  const auto with_mask = [](const std::string& before, const std::string& behind, const std::string& mask) {
    return verdict("mov.u32 %r1, %tid.x;\n" + before + early + "\n@%p1 ret;\n" + behind +
                   "redux.sync.add.s32 %r8, %r1, " + mask + ";\nret;\n");
  };
  EXPECT_EQ(with_mask("", "activemask.b32 %r2;\n", "%r2"), "worker");
  EXPECT_NE(with_mask("activemask.b32 %r2;\n", "", "%r2"), "worker");
  const std::string ballot = "setp.le.u32 %p2, %r1, 5;\nvote.sync.ballot.b32 %r2, %p2, -1;\n";
  EXPECT_EQ(with_mask(ballot, "", "%r2"), "worker") << "who says yes stays";
  EXPECT_NE(with_mask("vote.sync.ballot.b32 %r2, %p2, -1;\n", "", "%r2"), "worker") << "who says yes may return";
  EXPECT_NE(with_mask("match.any.sync.b32 %r2, %r1, -1;\n", "", "%r2"), "worker");
  EXPECT_NE(with_mask(ballot, "setp.eq.u32 %p3, %r1, 3;\n@%p3 ret;\n", "%r2"), "worker");
  const std::string asked = "activemask.b32 %r2;\n";
  EXPECT_EQ(with_mask("", asked + "match.any.sync.b32 %r3, %r1, %r2;\n", "%r3"), "worker");
  EXPECT_EQ(with_mask("", asked + "mov.b32 %r3, %r2;\nand.b32 %r4, %r3, 255;\n", "%r4"), "worker");
  EXPECT_NE(with_mask("", asked + "or.b32 %r4, %r2, 255;\n", "%r4"), "worker");
  EXPECT_NE(with_mask("", asked + "shl.b32 %r4, %r2, 1;\n", "%r4"), "worker");
  EXPECT_NE(with_mask("", asked + "@%p2 mov.b32 %r2, -1;\n", "%r2"), "worker");
  EXPECT_EQ(with_mask("", asked + "$T:\nand.b32 %r2, %r2, %r1;\nsetp.ne.u32 %p3, %r2, 0;\n@%p3 bra $T;\n", "%r2"),
            "worker");
  EXPECT_NE(with_mask("", asked + "$T:\nor.b32 %r2, %r2, %r1;\nsetp.ne.u32 %p3, %r2, 0;\n@%p3 bra $T;\n", "%r2"),
            "worker");
}

TEST(WarpWaits, CalledFunctionsWaitToo) {
  const std::string functions =
      ".func g() { .reg .pred %p<2>; vote.sync.any.pred %p1, %p1, -1; ret; }\n"
      ".func f() { call g, (); ret; }\n";
  const std::string begin = "mov.u32 %r1, %tid.x;\n" + early + "\n";
  EXPECT_EQ(verdict("call f, ();\n" + begin + "@%p1 ret;\nret;\n", functions), "worker");
  EXPECT_EQ(verdict(begin + "@%p1 ret;\ncall f, ();\nret;\n", functions), refused("call", 17));
}

TEST(WarpWaits, WhatACalledFunctionIsGivenMayDiffer) {
  const std::string function =
      ".func f(.param .b32 n) { .reg .b32 %r<3>; .reg .pred %p<3>; ld.param.b32 %r1, [n]; setp.eq.u32 %p1, %r1, 0;\n"
      "@%p1 ret;\nbar.warp.sync -1;\nret; }\n";
  EXPECT_EQ(verdict("ret;\n", function), "worker");
  EXPECT_EQ(verdict("{ .param .b32 a; st.param.b32 [a], %r1; call f, (a); }\nret;\n", function),
            refused("bar.warp.sync", 6));
}

}  // namespace
}  // namespace gpushare::ptx
