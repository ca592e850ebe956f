// SPDX-License-Identifier: Apache-2.0
#include "core/transform/waits/waits.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/transform/waits/memory_reads.hpp"
#include "core/transform/worker/preemptible.hpp"
#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

/// Is it thought that blocks of this kernel may wait for others?
bool waits(const std::string& body, const std::string& functions = "") {
  return std::get<WorkerNeeds>(make_preemptible(module_with(body, functions)).kernels.at(0).outcome).waits_for_blocks;
}

const std::string until_set = "setp.eq.s32 %p1, %r1, 0;\n@%p1 bra $L;\nret;\n";

TEST(Waits, AReadThatWatchesOtherBlocksWhereverItStands) {
  for (const char* read :
       {"ld.volatile.global.u32", "ld.relaxed.gpu.global.u32", "ld.acquire.gpu.u32", "ld.global.cv.u32",
        "multimem.ld_reduce.acquire.sys.global.add.u32", "multimem.ld_reduce.relaxed.gpu.add.u32"}) {
    EXPECT_TRUE(waits(read + std::string(" %r1, [%rd1];\nret;\n"))) << read;
  }
  EXPECT_FALSE(waits("multimem.ld_reduce.weak.global.add.u32 %r1, [%rd1];\nret;\n"));
}

TEST(Waits, ALoopThatAnAtomicEnds) {
  for (const char* atomic : {"atom.global.add.u32 %r1, [%rd1], 0;\n", "atom.global.exch.b32 %r1, [%rd1], 1;\n",
                             "atom.cas.b32 %r1, [%rd1], 0, 1;\n", "atom.acquire.gpu.global.or.b32 %r1, [%rd1], 0;\n"}) {
    EXPECT_TRUE(waits("$L:\n" + std::string(atomic) + until_set)) << atomic;
    EXPECT_FALSE(waits(atomic + std::string("$L:\nadd.s32 %r1, %r1, 1;\n") + until_set)) << atomic;
  }
  EXPECT_FALSE(waits("$L:\natom.shared.exch.b32 %r1, [%r2], 1;\n" + until_set));
}

TEST(Waits, HoweverTheResultComesToDecide) {
  const std::string atomic = "atom.global.add.u32 %r1, [%rd1], 0;\n";
  EXPECT_TRUE(waits("$L:\n" + atomic + "setp.ne.s32 %p1, %r1, 0;\n@%p1 ret;\nbra $L;\n"));
  EXPECT_TRUE(waits("$L:\n" + atomic + "setp.ne.s32 %p1, %r1, 0;\nselp.u32 %r2, 1, 0, %p1;\nmul.lo.s32 %r3, %r2, 7;\n" +
                    "setp.eq.s32 %p2, %r3, 0;\n@%p2 bra $L;\nret;\n"));
  EXPECT_TRUE(waits("mov.u32 %r2, 0;\n$L:\n" + atomic + "setp.eq.s32 %p1, %r1, 0;\n@%p1 bra $M;\nmov.u32 %r2, 1;\n" +
                    "$M:\nsetp.eq.s32 %p2, %r2, 0;\n@%p2 bra $L;\nret;\n"))
      << "by what runs because of it";
  EXPECT_TRUE(waits("$L:\n" + atomic + "st.shared.u32 [%r4], %r1;\nbar.sync 0;\nld.shared.u32 %r2, [%r4];\n" +
                    "setp.eq.s32 %p2, %r2, 0;\n@%p2 bra $L;\nret;\n"))
      << "by shared memory";
  EXPECT_TRUE(
      waits("$L:\n" + atomic + "setp.eq.s32 %p1, %r1, 0;\nbar.red.and.pred %p2, 0, %p1;\n@%p2 bra $L;\nret;\n"));
  EXPECT_TRUE(waits("$T: .branchtargets $L, $E;\n$L:\n" + atomic + "brx.idx %r1, $T;\n$E:\nret;\n"));
}

TEST(Waits, InALoopWithinALoop) {
  const std::string ends = "add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p2, %r2, 9;\n@%p2 bra $O;\nret;\n";
  for (const char* read : {"atom.global.add.u32 %r1, [%rd3], 0;\n", "ld.global.cg.u32 %r1, [%rd3];\n"}) {
    EXPECT_TRUE(waits("$O:\nmul.wide.s32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\n$L:\n" + std::string(read) +
                      "setp.eq.s32 %p1, %r1, 0;\n@%p1 bra $L;\n" + ends))
        << read;
  }
  EXPECT_FALSE(
      waits("$O:\natom.global.add.u32 %r1, [%rd1], 1;\nsetp.ge.s32 %p1, %r1, 50;\n@%p1 bra $L;\n"
            "st.global.u32 [%rd2], %r1;\n$L:\n" +
            ends))
      << "what it decides is over before the loop goes on";
}

TEST(Waits, AtomicsInLoopsThatEndWithoutThemAreNoReason) {
  const std::string ends = "add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p2, %r2, 9;\n@%p2 bra $L;\nret;\n";
  EXPECT_FALSE(waits("$L:\nred.global.add.u32 [%rd1], 1;\n" + ends));
  EXPECT_FALSE(waits("$L:\natom.global.add.u32 %r1, [%rd1], 1;\nst.global.u32 [%rd2], %r1;\n" + ends));
  EXPECT_FALSE(waits("$L:\nsetp.ne.s32 %p1, %r3, 0;\n@%p1 atom.global.add.u32 %r1, [%rd1], 1;\n" + ends));
}

TEST(Waits, ACompareAndSwapThatTakesUpWhatItFoundDoesNotWait) {
  const std::string retry = "atom.global.cas.b32 %r1, [%rd1], %r2, %r3;\nsetp.ne.s32 %p1, %r2, %r1;\n";
  const std::string again = "mov.u32 %r2, %r1;\n@%p1 bra $L;\nret;\n";
  EXPECT_FALSE(waits("ld.global.u32 %r2, [%rd1];\n$L:\nadd.s32 %r3, %r2, 1;\n" + retry + again));
  EXPECT_FALSE(waits("$O:\nld.global.u32 %r2, [%rd1];\n$L:\nadd.s32 %r3, %r2, 1;\n" + retry +
                     "mov.u32 %r2, %r1;\n@%p1 bra $L;\nadd.s32 %r4, %r4, 1;\nsetp.lt.s32 %p2, %r4, 9;\n"
                     "@%p2 bra $O;\nret;\n"));
  EXPECT_TRUE(waits("mov.u32 %r2, 0;\n$L:\n" + retry + "@%p1 bra $L;\nret;\n")) << "a lock";
  EXPECT_TRUE(waits("$L:\n" + retry + "and.b32 %r2, %r1, 254;\n@%p1 bra $L;\nret;\n")) << "a lock in a bit";
  EXPECT_TRUE(waits("$L:\n" + retry + "setp.eq.s32 %p2, %r1, 99;\n@%p2 bra $L;\n" + again)) << "99 is waited out";
}

/// As fast as they are read: looking at all loads for each exchange took minutes here.
TEST(Waits, ManyExchangesThatAreGivenTheSame) {
  constexpr int many = 16'000;
  std::string body = "$L:\n";
  for (int load = 0; load < many; ++load) body += "ld.global.u32 %r2, [%rd1];\n";
  for (int exchange = 0; exchange < many; ++exchange) {
    body += "atom.global.cas.b32 %e" + std::to_string(exchange) + ", [%rd1], %r2, 5;\n";
  }
  EXPECT_TRUE(waits(body + "setp.eq.u32 %p1, %e1, %r2;\n@%p1 bra $L;\nret;\n"));
}

TEST(Waits, ALoopThatALoadEnds) {
  const std::string load = "ld.global.u32 %r1, [%rd1];\n";
  EXPECT_TRUE(waits("$L:\nld.global.cg.u32 %r1, [%rd1];\n" + until_set));
  EXPECT_TRUE(waits("$L:\nmembar.gl;\n" + load + until_set));
  EXPECT_TRUE(waits("$L:\n" + load + "membar.gl;\nst.shared.u32 [%r4], %r1;\nbar.sync 0;\nld.shared.u32 %r2, [%r4];\n" +
                    "setp.eq.s32 %p2, %r2, 0;\n@%p2 bra $L;\nret;\n"));
  EXPECT_FALSE(waits("$L:\n" + load + until_set)) << "without a fence it may find the same for ever";
  EXPECT_FALSE(waits("$L:\nmembar.gl;\nld.shared.u32 %r1, [%r2];\n" + until_set));
  EXPECT_FALSE(waits("$L:\nmembar.gl;\nld.global.nc.u32 %r1, [%rd1];\n" + until_set)) << "nobody may change it";
}

TEST(Waits, InFunctionsAndByThem) {
  const std::string result = "st.param.b32 [r+0], %r1; ret; }\n";
  const std::string try_lock =
      ".func (.param .b32 r) f(.param .b64 a) { .reg .b32 %r<3>; .reg .b64 %rd<2>; "
      "ld.param.u64 %rd1, [a]; atom.cas.b32 %r1, [%rd1], 0, 1; " +
      result;
  const std::string pure = ".func (.param .b32 r) f(.param .b64 a) { .reg .b32 %r<3>; mov.u32 %r1, %tid.x; " + result;
  const std::string lock =
      ".func f(.param .b64 a) { .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<2>; "
      "ld.param.u64 %rd1, [a];\n$L: atom.cas.b32 %r1, [%rd1], 0, 1;\n" +
      until_set + "}\n";
  const std::string call =
      "{ .param .b64 a; st.param.b64 [a+0], %rd1; .param .b32 v; call.uni (v), f, (a); "
      "ld.param.b32 %r1, [v+0]; }\n";
  EXPECT_TRUE(waits("$L:\n" + call + until_set, try_lock));
  EXPECT_FALSE(waits(call + "ret;\n", try_lock));
  EXPECT_FALSE(waits("$L:\n" + call + until_set, pure));
  EXPECT_TRUE(waits("{ .param .b64 a; call.uni f, (a); }\nret;\n", lock));
}

/// A function f, or of another name, that returns %r1, which this body computes from its argument in %rd1.
std::string function_with(const std::string& body, const std::string& name = "f") {
  return ".func (.param .b32 r) " + name +
         "(.param .b64 a) { .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\nld.param.u64 %rd1, [a];\n" + body +
         "st.param.b32 [r+0], %r1;\nret;\n}\n";
}

std::string call_of(const std::string& name, const std::string& argument, const std::string& result) {
  return "{\n.param .b64 param0;\nst.param.b64 [param0+0], " + argument + ";\n.param .b32 retval0;\n" +
         "call.uni (retval0), " + name + ", (param0);\nld.param.b32 " + result + ", [retval0+0];\n}\n";
}

const std::string load_flag = "ld.global.u32 %r1, [%rd1];\n";
const std::string call_f = call_of("f", "%rd1", "%r1");

TEST(Waits, APlainLoadBehindAFenceInWhatIsCalled) {
  const std::string by_shared_memory =
      "st.shared.u32 [%r4], %r1;\nbar.sync 0;\nld.shared.u32 %r2, [%r4];\n"
      "setp.eq.s32 %p2, %r2, 0;\n@%p2 bra $L;\nret;\n";
  const std::string fence = "membar.gl;\n";
  EXPECT_TRUE(waits("$L:\n" + call_f + until_set, function_with(fence + load_flag)));
  EXPECT_TRUE(waits("$L:\n" + call_f + by_shared_memory, function_with(fence + load_flag)));
  EXPECT_TRUE(waits("$L:\n" + fence + call_f + by_shared_memory, function_with(load_flag)));
  EXPECT_TRUE(waits("$L:\n" + call_of("g", "%rd1", "%r3") + load_flag + by_shared_memory, function_with(fence, "g")));
  EXPECT_TRUE(waits("$L:\n" + call_f + by_shared_memory,
                    function_with(fence + load_flag, "g") + function_with(call_of("g", "%rd1", "%r1"))))
      << "called by what is called";
  EXPECT_FALSE(waits("$L:\n" + fence + call_f + by_shared_memory, function_with("mov.u32 %r1, %tid.x;\n")));
}

}  // namespace
}  // namespace gpushare::ptx
