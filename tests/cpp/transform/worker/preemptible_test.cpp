// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker/preemptible.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "core/model/errors.hpp"
#include "core/transform/worker/worker_control.hpp"
#include "messages.hpp"
#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

using test::naming;
using testing::HasSubstr;
using testing::Not;

/// The text of the worker alone.
std::string worker_of(const std::string& ptx) {
  const Transformed transformed = make_preemptible(ptx);
  const Module module(transformed.ptx);
  const Function* worker = module.definition(worker_name("k"));
  return worker == nullptr ? "" : std::string(module.source(worker->tokens));
}

std::string refusal_of(const std::string& ptx) {
  const Transformed transformed = make_preemptible(ptx);
  const auto* refusal = std::get_if<Refusal>(&transformed.kernels.at(0).outcome);
  return refusal == nullptr ? "" : refusal->reason + " @" + std::to_string(refusal->line);
}

TEST(Preemptible, BlockIndexAndGridSizeAreReplaced) {
  const std::string ptx = worker_of(module_with("mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %nctaid.y;\nret;\n"));
  EXPECT_THAT(ptx, Not(HasSubstr("%ctaid")));
  EXPECT_THAT(ptx, HasSubstr("mov.u32 %r1, %gpushare_x;"));
  EXPECT_THAT(ptx, HasSubstr("ld.param.u32 \t%gpushare_i, [gpushare_worker+36];\n\tmov.u32 %r2, %gpushare_i;"));
}

TEST(Preemptible, A16BitReadBecomesAConversion) {
  for (const std::string read : {"mov.u16", "mov.b16", "mov.s16"}) {
    EXPECT_THAT(make_preemptible(module_with(read + " %rs1, %ctaid.x;\nret;\n")).ptx,
                HasSubstr("cvt.u16.u32 %rs1, %gpushare_x;"));
  }
}

TEST(Preemptible, AVectorReadBecomesOneReadOfEachComponent) {
  const std::string ptx =
      worker_of(module_with("@!%p1 mov.v4.u32 {%r1, _, %r3, %r4}, %ctaid;\n"
                            "mov.v4.b32 {%r5, %r6, _, _}, %nctaid;\n"
                            "mov.v4.u32 %v, %ctaid;\nret;\n"));
  EXPECT_THAT(ptx, HasSubstr("@!%p1 mov.b32 \t%r1, %gpushare_x;\n\t@!%p1 mov.b32 \t%r3, %gpushare_z;\n\t"
                             "@!%p1 mov.b32 \t%r4, 0;"));
  EXPECT_THAT(ptx, HasSubstr("ld.param.b32 \t%r5, [gpushare_worker+24];\n\t"
                             "ld.param.b32 \t%r6, [gpushare_worker+36];"));
  EXPECT_THAT(ptx, HasSubstr("mov.b32 \t%v.y, %gpushare_y;"));
  EXPECT_THAT(ptx, Not(HasSubstr("ctaid")));
}

TEST(Preemptible, ReturnsKeepTheirGuard) {
  EXPECT_THAT(make_preemptible(module_with("@!%p1 ret;\nexit;\n")).ptx,
              HasSubstr("@!%p1 bra \t$gpushare_return;\nbra \t$gpushare_return;"));
}

TEST(Preemptible, AKernelWithoutParametersGetsOne) {
  EXPECT_THAT(make_preemptible(ptx_header + ".entry k()\n{\nret;\n}").ptx,
              HasSubstr(".entry k$worker(\n\t.param .align 8 .b8 gpushare_worker[72]\n)"));
  EXPECT_THAT(make_preemptible(ptx_header + ".entry k\n{\nret;\n}").ptx,
              HasSubstr(".entry k$worker(\n\t.param .align 8 .b8 gpushare_worker[72]\n)"));
}

TEST(Preemptible, EverythingElseStaysAsItWas) {
  const std::string before = "// a comment\n.global .align 4 .b8 table[3] = {1, 2, 3};\n";
  EXPECT_THAT(make_preemptible(module_with("ret;\n", before)).ptx, HasSubstr(before));
}

TEST(Preemptible, OnlyBarriersThatThreadsMaySkipGoThroughOneSite) {
  const std::string early = "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n@%p1 ret;\n";
  const std::string site = "$gpushare_site:";
  EXPECT_THAT(make_preemptible(module_with(early + "bar.sync 0;\nret;\n")).ptx, HasSubstr(site));
  EXPECT_THAT(make_preemptible(module_with("bar.sync 0;\nret;\n")).ptx, Not(HasSubstr(site)));
  EXPECT_THAT(make_preemptible(module_with(early + "ret;\n")).ptx, Not(HasSubstr(site)));
}

TEST(Preemptible, ABarrierThatOnlySomeThreadsAreGuardedForGoesThroughOneSite) {
  const std::string guarded = "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n@!%p1 bar.sync 0;\nret;\n";
  EXPECT_THAT(make_preemptible(module_with(guarded)).ptx,
              HasSubstr("@%p1 bra \t$gpushare_after_1;\n\tmov.u32 \t%gpushare_continue, 1;"));
}

TEST(Preemptible, ManyBarriersGoOnByATableAndFewByBranches) {
  std::string body = "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n@%p1 ret;\n";
  for (int barriers = 1; barriers <= 12; ++barriers) {
    body += "bar.sync 0;\n";
    const std::string ptx = make_preemptible(module_with(body + "ret;\n")).ptx;
    EXPECT_EQ(ptx.find("brx.idx") != std::string::npos, barriers > 8) << barriers;
  }
}

TEST(Preemptible, CalledFunctionsReadTheBlockIndexFromMemory) {
  const std::string callee =
      ".func (.param .b32 r) f() { .reg .b32 %r<2>; mov.u32 %r1, %ctaid.y; st.param.b32 [r+0], %r1; ret; }\n";
  const std::string call = "{ .param .b32 v; call.uni (v), f, (); ld.param.b32 %r1, [v+0]; }\nret;\n";
  const std::string ptx = make_preemptible(module_with(call, callee)).ptx;
  EXPECT_THAT(ptx, HasSubstr("ld.shared.b32 \t%r1, [gpushare_block_index+4];"));
  EXPECT_THAT(ptx, HasSubstr(".shared .align 16 .b8 gpushare_block_index[32];"));
}

TEST(Preemptible, RefusesWithReasonAndLine) {
  const std::string early = "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 5;\n@%p1 ret;\n";
  EXPECT_THAT(refusal_of(module_with("mov.u32 %r1, %cluster_ctaid.x;\nret;\n")), naming("@12"));
  EXPECT_THAT(refusal_of(module_with("ret;\n", "", "\n.reqnctapercluster 2, 1, 1\n")), naming("@7"));
  EXPECT_THAT(refusal_of(module_with("mov.u32 %r1, %envreg2;\nret;\n")), naming("@12"));
  EXPECT_THAT(refusal_of(module_with("setmaxnreg.inc.sync.aligned.u32 64;\nret;\n")), naming("setmaxnreg"));
  EXPECT_THAT(refusal_of(module_with(early + "bar.sync 1, 64;\nret;\n")), naming("@15"));
  EXPECT_EQ(refusal_of(module_with("bar.sync 1, 64;\nret;\n")), "");
  EXPECT_THAT(refusal_of(module_with(early + "{ .reg .pred q;\nbar.sync 0; }\nret;\n")), naming("@16"));
  EXPECT_EQ(refusal_of(module_with("{ .reg .pred q;\nbar.sync 0; }\nret;\n")), "");
  EXPECT_THAT(refusal_of(module_with("ret;\n", ".func f() { exit; }\n")), "");  // it is not called
}

TEST(Preemptible, InstructionsThatTellTasksFromBlocksAreRefused) {
  EXPECT_THAT(refusal_of(module_with("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %r1;\nret;\n")),
              naming("clusterlaunchcontrol"));
  EXPECT_THAT(refusal_of(module_with("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\nret;\n")),
              naming("@12"));
  EXPECT_EQ(refusal_of(module_with("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 128;\nret;\n")), "");
  for (const char* size : {"%total_smem_size", "%aggr_smem_size"}) {
    EXPECT_THAT(refusal_of(module_with("mov.u32 %r1, " + std::string(size) + ";\nret;\n")), naming("@12"));
  }
  const std::string takes = "alloca.u64 %rd1, %rd2, 16;\n";
  EXPECT_THAT(refusal_of(module_with(takes + "ret;\n")), naming("alloca", "@12"));
  EXPECT_EQ(refusal_of(module_with("call f, ();\nret;\n", ".func f() { .reg .b64 %rd<3>; " + takes + "ret; }\n")), "");
}

TEST(Preemptible, ARefusedKernelStaysByteForByte) {
  const std::string ptx = module_with("mov.u32 %r1, %envreg2;\nret;\n");
  EXPECT_EQ(make_preemptible(ptx).ptx, ptx);
}

TEST(Preemptible, EachKernelOfAModuleHasItsOwnVerdict) {
  const Transformed transformed = make_preemptible(
      ptx_header + ".entry a() { .reg .b32 %r<2>; mov.u32 %r1, %envreg2; ret; }\n.entry b()\n{\nret;\n}\n");
  ASSERT_EQ(transformed.kernels.size(), 2u);
  EXPECT_FALSE(transformed.kernels[0].preemptible());
  EXPECT_TRUE(transformed.kernels[1].preemptible());
  EXPECT_THAT(Module(transformed.ptx).entry_names(), testing::ElementsAre("a", "b", "b$worker"));
}

TEST(Preemptible, KernelAndWorkerStandInOneModuleWithTheirVariables) {
  const std::string ptx = module_with("st.global.u32 [total], %r1;\nret;\n", ".global .u32 total;\n");
  const std::string transformed = make_preemptible(ptx).ptx;
  EXPECT_THAT(transformed, testing::StartsWith(ptx.substr(0, ptx.rfind('}') + 1)));
  EXPECT_THAT(Module(transformed).entry_names(), testing::ElementsAre("k", "k$worker"));
}

TEST(Preemptible, KernelsThatAreNotChosenAreLeftOut) {
  const std::string ptx = ptx_header +
                          ".visible .entry a();\n.visible .entry a() { ret; }\n.entry b()\n{\nret;\n}\n"
                          ".entry c() { .reg .b64 %rd<2>; mov.u64 %rd1, d; ret; }\n.entry d() { ret; }\n";
  const auto names = [&](const std::vector<std::string>& entries) {
    return Module(make_preemptible(ptx, entries).ptx).entry_names();
  };
  EXPECT_THAT(names({"b"}), testing::ElementsAre("b", "b$worker", "d")) << "another kernel names d";
  EXPECT_THAT(names({"b", "a"}), testing::ElementsAre("a", "a$worker", "b", "b$worker", "d"));
  EXPECT_THAT(make_preemptible(ptx, {"b"}).ptx, Not(HasSubstr("a()")));
  EXPECT_THROW(make_preemptible(ptx, {"e"}), InvalidInput);
}

TEST(Preemptible, OriginalsFillTheMemoryInWhichFunctionsFindTheBlockIndex) {
  const std::string callee = ".func f() { .reg .b32 %r<2>; mov.u32 %r1, %ctaid.x; ret; }\n";
  const std::string refused = ".entry refused() { .reg .b32 %r<2>; mov.u32 %r1, %envreg2; call f, (); ret; }\n";
  const std::string idle = ".entry idle() { ret; }\n";
  const Module module(make_preemptible(module_with("call f, ();\nret;\n", callee + refused + idle)).ptx);
  const std::string fill =
      "mov.u32 \t%gpushare_i, %ctaid.x;\n\t@%gpushare_leader st.shared.u32 \t[gpushare_block_index+0], %gpushare_i;";
  for (const auto* name : {"k", "refused"}) {
    const std::string body(module.source(module.entry(name).body));
    EXPECT_THAT(body, HasSubstr(fill));
    EXPECT_LT(body.find(fill), body.find("bar.sync")) << "the other threads wait until it is there";
  }
  EXPECT_THAT(std::string(module.source(module.entry("idle").body)), Not(HasSubstr(fill)));
}

TEST(WorkerControl, FieldsHaveTheOffsetsThatThePtxReads) {
  EXPECT_EQ(offsetof(WorkerControl, next_task), 0u);
  EXPECT_EQ(offsetof(WorkerControl, workers_gone), 4u);
  EXPECT_EQ(offsetof(WorkerOrder, quota), 0u);
  EXPECT_EQ(offsetof(WorkerOrder, chunk), 2u);
  EXPECT_EQ(offsetof(WorkerSm, workers), 0u);
  EXPECT_EQ(offsetof(WorkerSm, tasks_done), 8u);
  EXPECT_EQ(offsetof(WorkerSm, chunks_done), 12u);
  EXPECT_EQ(offsetof(WorkerSm, busy_ns), 16u);
  EXPECT_EQ(offsetof(WorkerParameters, sm_table), 8u);
  EXPECT_EQ(offsetof(WorkerParameters, tasks), 16u);
  EXPECT_EQ(offsetof(WorkerParameters, guide), 20u);
  EXPECT_EQ(offsetof(WorkerParameters, grid_x), 24u);
  EXPECT_EQ(offsetof(WorkerParameters, grid_y), 36u);
  EXPECT_EQ(offsetof(WorkerParameters, grid_z), 48u);
  EXPECT_EQ(offsetof(WorkerParameters, orders), 56u);
}

TEST(FastDivisor, DividesEveryValueBelowTwoToThe31) {
  for (const std::uint32_t divisor : {1u, 2u, 3u, 7u, 12u, 100u, 65535u, 65536u, 1'000'003u, 0x7fffffffu}) {
    const FastDivisor fast = FastDivisor::of(divisor);
    for (const std::uint32_t value :
         {0u, 1u, divisor - 1, divisor, divisor + 1, 0x12345678u, 0x7ffffffeu, 0x7fffffffu}) {
      if (value > 0x7fffffffu) continue;
      EXPECT_EQ(fast.divide(value), value / divisor) << value << " / " << divisor;
    }
  }
}

TEST(Preemptible, UnreplaceableReadsOfTheBlockIndexAreRefused) {
  EXPECT_THAT(refusal_of(module_with("mov.v4.u16 {%rs1, %rs2, %rs3, %rs4}, %ctaid;\nret;\n")), naming("@12"));
  EXPECT_THAT(refusal_of(module_with("mov.v4.u32 {%r1, %r2, %r3}, %nctaid;\nret;\n")), naming("@12"));
  EXPECT_THAT(refusal_of(module_with("mov.u32 %r1, %ctaid.r;\nret;\n")), naming("@12"));
  EXPECT_THAT(refusal_of(module_with("mov.b64 %rd1, {%nctaid.x, %nctaid.y};\nret;\n")), naming("@12"));
  EXPECT_EQ(refusal_of(module_with("mov.b64 %rd1, {%ctaid.x, %nctaid.y};\nret;\n")), "");
  for (const char* read : {"mov.u32 %ctaid.x;", "mov.u32 %ctaid.x, %ctaid.x;", "mov.u32 %r1, [%ctaid.x];"}) {
    const std::string callee = std::string(".func f() { .reg .b32 %r<2>; ") + read + " ret; }\n";
    EXPECT_THAT(refusal_of(module_with("call f, ();\nret;\n", callee)), naming("@4")) << read;
    EXPECT_EQ(refusal_of(module_with("ret;\n", callee)), "") << read;  // it is not called
  }
}

TEST(Preemptible, AFunctionThatNoWorkerCallsStaysAsItIs) {
  const std::string idle = ".func idle() { .reg .b32 %r<2>; mov.u32 %r1, %ctaid.w; ret; }\n";
  const std::string called = ".func f() { .reg .b32 %r<2>; mov.u32 %r1, %ctaid.x; ret; }\n";
  EXPECT_THAT(make_preemptible(module_with("call f, ();\nret;\n", idle + called)).ptx, HasSubstr(idle));
}

TEST(Preemptible, MemoryForTheBlockIndexIsDeclaredAfterTheHeader) {
  const std::string rest =
      ".func f() { .reg .b32 %r<2>; mov.u32 %r1, %ctaid.x; ret; }\n.entry k() { call f, (); ret; }";
  for (const char* header : {".version 8.0\n.target sm_90\n", ".version 8.0 .target sm_90 .address_size 64 ",
                             ".version 8.0\n.target sm_90\n.address_size 64 /* two\nlines */ ",
                             ".version 8.0\r\n.target sm_90\r\n.address_size 64\r\n"}) {
    const std::string ptx = make_preemptible(header + rest).ptx;
    EXPECT_LT(ptx.find(".target"), ptx.find("\n.shared .align 16 .b8 gpushare_block_index[32];\n")) << header;
    EXPECT_LT(ptx.find("gpushare_block_index[32]"), ptx.find(".func")) << header;
    EXPECT_EQ(Module(ptx).entry_names().size(), 2u) << header;
  }
}

TEST(Preemptible, DynamicSharedMemoryOfTensorCoresStaysAligned) {
  const std::string plain = "ld.shared.u32 %r1, [%r2];\nret;\n";
  EXPECT_THAT(make_preemptible(module_with(plain)).ptx, HasSubstr(".align 16 .b8 gpushare_claim[80];"));
  const std::string wgmma = "wgmma.fence.sync.aligned;\n" + plain;
  EXPECT_THAT(make_preemptible(module_with(wgmma)).ptx, HasSubstr(".align 1024 .b8 gpushare_claim[1024];"));
}

TEST(Preemptible, KernelsThatWaitForOtherBlocksClaimOneTaskAtATime) {
  const std::string one = "mov.u32 \t%gpushare_j, 1;";
  EXPECT_THAT(worker_of(module_with("ld.global.u32 %r1, [%rd1];\nret;\n")), Not(HasSubstr(one)));
  EXPECT_THAT(make_preemptible(module_with("ld.volatile.shared.u32 %r1, [%r2];\nret;\n")).ptx, Not(HasSubstr(one)));
  for (const std::string load : {"ld.volatile.global.u32", "ld.acquire.gpu.global.u32", "ld.relaxed.gpu.global.u32",
                                 "ld.mmio.relaxed.sys.global.u32", "ld.global.cv.u32"}) {
    EXPECT_THAT(make_preemptible(module_with(load + " %r1, [%rd1];\nret;\n")).ptx, HasSubstr(one));
  }
}

TEST(Preemptible, AWorkerIsNotMadeAWorkerAgain) {
  const Transformed again = make_preemptible(make_preemptible(module_with("ret;\n")).ptx);
  ASSERT_EQ(again.kernels.size(), 2u);
  for (const auto& kernel : again.kernels) EXPECT_FALSE(kernel.preemptible());
}

TEST(Preemptible, AnUnparsableKernelIsRefusedAndUnchanged) {
  for (const char* branch : {"bra;", "bra $L;", "brx.idx %r1;", "brx.idx %r1, $L;",
                             "$T: .branchtargets ;\nbrx.idx %r1, $T;", "$T: .branchtargets $L;\nbrx.idx %r1, $T;",
                             "$T: .branchtargets $T;\nbrx.idx %r1, $T;", "$T:\nbrx.idx %r1, $T;", "mov.u32 %r1, (2;"}) {
    const std::string ptx = module_with(branch + std::string("\nret;\n"));
    EXPECT_THAT(refusal_of(ptx), naming("PTX line")) << branch;
    EXPECT_EQ(make_preemptible(ptx).ptx, ptx) << branch;
  }
  EXPECT_THAT(refusal_of(module_with("call f, ();\nret;\n", ".func f() { mov.u32 %r1, (2; }\n")), naming("PTX line"));
}

/// Everything after the early return needs all threads; %p1 says whether a thread returns.
std::string barrier_unless(const std::string& made) {
  return module_with(made + "\n@%p1 ret;\nst.shared.u32 [%r5], %r1;\nbar.sync 0;\nret;\n", ".shared .b32 s;\n");
}

TEST(Preemptible, ALoadFromOneAddressBeforeABranchIsShared) {
  const std::string loaded =
      "ld.param.u64 %rd1, [k_param_0];\n@%p2 ld.global.v2.u32 {%r2, %r3}, [%rd1];\nsetp.ge.u32 %p1, %r2, 7;";
  const std::string worker = worker_of(barrier_unless(loaded));
  EXPECT_THAT(worker, Not(HasSubstr("$gpushare_site")));
  EXPECT_THAT(worker,
              HasSubstr("@!%p2 bra \t$gpushare_loaded_1;\n\tbar.sync \t0;\n"
                        "\t@%gpushare_leader ld.global.v2.u32 {%r2, %r3}, [%rd1];\n"
                        "\t@%gpushare_leader st.shared.v2.u32 \t[gpushare_claim+96], {%r2, %r3};\n\tbar.sync \t0;\n"
                        "\tld.shared.v2.u32 \t{%r2, %r3}, [gpushare_claim+96];\n$gpushare_loaded_1:"));
  EXPECT_THAT(worker, HasSubstr("gpushare_claim[128]"));
}

TEST(Preemptible, ALoadThatDecidesNoBranchIsUnchanged) {
  const std::string idle = "ld.param.u64 %rd1, [k_param_0];\nld.global.u32 %r4, [%rd1+8];\n";
  const std::string worker = worker_of(barrier_unless(idle + "ld.global.u32 %r2, [%rd1];\nsetp.ge.u32 %p1, %r2, 7;"));
  EXPECT_THAT(worker, HasSubstr("@%gpushare_leader ld.global.u32 %r2, [%rd1];"));
  EXPECT_THAT(worker, Not(HasSubstr("@%gpushare_leader ld.global.u32 %r4")));
}

TEST(Preemptible, ALoadFromThreadDependentAddressesNeedsTheSingleSite) {
  const std::string own =
      "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nld.global.u32 %r2, [%rd2];\nsetp.ge.u32 %p1, %r2, 7;";
  const std::string watched = "ld.volatile.global.u32 %r2, [%rd1];\nsetp.ge.u32 %p1, %r2, 7;";
  for (const std::string& made : {own, watched}) {
    EXPECT_THAT(worker_of(barrier_unless(made)), HasSubstr("$gpushare_site")) << made;
  }
}

TEST(Preemptible, ParametersAreUniformHoweverTheyAreRead) {
  for (const std::string read :
       {"ld.param.u32 %r2, [k_param_0];", "mov.b64 %rd1, k_param_0;\nld.param.u32 %r2, [%rd1+4];",
        "mov.u32 %r3, %ctaid.y;\nmul.wide.u32 %rd2, %r3, 4;\nmov.b64 %rd1, k_param_0;\n"
        "add.s64 %rd3, %rd1, %rd2;\nld.param.u32 %r2, [%rd3];"}) {
    const std::string worker = worker_of(barrier_unless(read + "\nsetp.ge.u32 %p1, %r2, 7;"));
    EXPECT_THAT(worker, Not(HasSubstr("$gpushare_site"))) << read;
    EXPECT_THAT(worker, HasSubstr("gpushare_claim[80]")) << read;
  }
  const std::string by_thread =
      "mov.u32 %r3, %tid.x;\nmul.wide.u32 %rd2, %r3, 4;\nmov.b64 %rd1, k_param_0;\n"
      "add.s64 %rd3, %rd1, %rd2;\nld.param.u32 %r2, [%rd3];\nsetp.ge.u32 %p1, %r2, 7;";
  EXPECT_THAT(worker_of(barrier_unless(by_thread)), HasSubstr("$gpushare_site"));
}

TEST(Preemptible, AKernelThatTakesAllSharedMemoryRunsAsItIsAndOthersOfItsModuleDoNot) {
  EXPECT_THAT(refusal_of(module_with(".shared .align 4 .b8 s[49152];\nret;\n")), naming("@0"));
  EXPECT_THAT(refusal_of(module_with("mov.u32 %r1, s;\nret;\n", ".shared .align 4 .f32 s[12][1023];\n")), naming("@0"));
  EXPECT_EQ(refusal_of(module_with("mov.u32 %r1, s;\nret;\n", ".shared .align 4 .b8 s[49072];\n")), "");
  EXPECT_EQ(refusal_of(module_with("ret;\n", ".shared .align 4 .b8 s[49152];\n")), "") << "it does not name s";
  EXPECT_EQ(refusal_of(module_with("mov.u32 %r1, s;\nret;\n", ".extern .shared .align 4 .b8 s[];\n")), "");
}

TEST(Preemptible, AKernelThatTakesAllParametersRunsAsItIs) {
  const auto with = [](const std::string& version, int bytes) {
    return refusal_of(".version " + version + "\n.target sm_90\n.entry k(.param .b8 p[" + std::to_string(bytes) +
                      "]) { ret; }");
  };
  EXPECT_THAT(with("8.0", 4352), naming("@0"));
  EXPECT_EQ(with("8.1", 4352), "");
  EXPECT_THAT(with("9.0", 32'764), naming("@0"));
}

TEST(Preemptible, DependentLaunchControlIsAccepted) {
  EXPECT_EQ(refusal_of(module_with("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;\nret;\n")), "");
}

}  // namespace
}  // namespace gpushare::ptx
