// SPDX-License-Identifier: Apache-2.0
// Branches, jump tables, scopes, calls, special registers, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/errors.hpp"
#include "messages.hpp"
#include "ptx_interpreter/sample_kernels.hpp"

namespace gpushare::interpreter {
namespace {

using namespace test;
using gpushare::test::message_of;
using gpushare::test::naming;
using testing::ElementsAre;

TEST(Control, DivergentLoop) {
  const auto words = words_of(snippet(R"(
    mov.u64 %q0, 0; mov.u32 %r0, %t;
   LOOP: setp.eq.u32 %p1, %r0, 0; @%p1 bra END;
    cvt.u64.u32 %q1, %r0; add.u64 %q0, %q0, %q1; sub.u32 %r0, %r0, 1; bra.uni LOOP;
   END:)" + store_q0),
                              {}, {.threads = {5}});
  EXPECT_THAT(words, ElementsAre(0, 1, 3, 6, 10));
}

TEST(Control, JumpTable) {
  const auto words = words_of(snippet(R"(
    targets: .branchtargets A, B, C;
    rem.u32 %r0, %t, 3;
    brx.idx %r0, targets;
   A: mov.u64 %q0, 10; bra END;
   B: mov.u64 %q0, 20; bra END;
   C: mov.u64 %q0, 30;
   END:)" + store_q0),
                              {}, {.threads = {4}});
  EXPECT_THAT(words, ElementsAre(10, 20, 30, 10));
}

TEST(Control, InnerScopesHideNamesAndLabels) {
  EXPECT_EQ(word_of(R"(
    mov.u64 %q0, 1;
    { .reg .b64 %q0; mov.u64 %q0, 7; bra L; mov.u64 %q0, 8; L: st.global.u64 [%o], %q0; }
    { .reg .b64 x; ld.global.u64 x, [%o]; bra L; add.u64 x, x, 100; L: add.u64 %q0, %q0, x; })" +
                    store_q0),
            8u);
}

TEST(Control, DirectivesMayHaveTheirTypeAttached) {
  EXPECT_EQ(
      word_of("{.reg.b64 x, y; .shared.b64 s; mov.b64 x, 4; st.shared.b64 [s], x; ld.shared.b64 %q0, [s];}" + store_q0),
      4u);
}

const std::string functions = R"(
  .func (.param .b64 result) twice (.param .b64 x);
  .func (.param .b64 result) sum (.param .b64 a, .param .align 8 .b8 pair[16])
  {
    .reg .b64 %q<8>;
    ld.param.u64 %q1, [a]; ld.param.u64 %q2, [pair]; ld.param.u64 %q3, [pair+8];
    add.u64 %q4, %q2, %q3;
    { .param .b64 p; .param .b64 r; st.param.b64 [p], %q4; call (r), twice, (p); ld.param.b64 %q5, [r]; }
    add.u64 %q6, %q1, %q5;
    st.param.b64 [result], %q6;
    ret;
  }
  .func (.param .b64 result) twice (.param .b64 x)
  {
    .reg .b64 %q<3>; .local .align 8 .b8 spill[8];
    ld.param.u64 %q1, [x]; st.local.u64 [spill], %q1; ld.local.u64 %q2, [spill];
    add.u64 %q2, %q2, %q1; st.param.b64 [result], %q2; ret;
  }
  .func nothing () { ret; }
  .global .align 8 .u64 pointers[1] = {twice};
)";

TEST(Control, Calls) {
  const std::string body = R"(
    { .param .b64 a; .param .align 8 .b8 pair[16]; .param .b64 r;
      mov.u64 %q1, 100; st.param.b64 [a], %q1; mov.u64 %q1, 3; st.param.b64 [pair], %q1; st.param.b64 [pair+8], %q1;
      call.uni (r), sum, (a, pair);
      ld.param.b64 %q0, [r]; }
    call.uni nothing;)";
  EXPECT_EQ(words_of(snippet(body + store_q0, functions), {}, {.threads = {33}}).back(), 112u);
}

TEST(Control, CallsThroughPointers) {
  const std::string body = R"(
    { .param .b64 p; .param .b64 r; st.param.b64 [p], 21; ld.global.u64 %q1, [pointers];
      prototype: .callprototype (.param .b64 _) _ (.param .b64 _);
      call (r), %q1, (p), prototype;
      ld.param.b64 %q0, [r]; })";
  EXPECT_EQ(words_of(snippet(body + store_q0, functions), {}, {.threads = {1}}).front(), 42u);
}

TEST(Control, SpecialRegisters) {
  const Grid grid = {.blocks = {2, 3, 2}, .threads = {4, 2, 2}};
  const Kernel kernel(snippet(R"(
    mov.v4.u32 {%r1, %r2, %r3, _}, %ctaid; mov.u32 %r4, %nctaid.y; cvt.u32.u16 %r5, %tid.y; mov.u32 %r6, %ntid.z;
    mov.u32 %r7, %smid; mov.u32 %r8, %nsmid; mov.u64 %q1, %clock64; mov.u64 %q2, %globaltimer;
    mad.lo.u32 %r9, %r2, 10, %r1; mad.lo.u32 %r9, %r3, 100, %r9; mad.lo.u32 %r9, %r4, 1000, %r9;
    mad.lo.u32 %r9, %r8, 10000, %r9; cvt.u64.u32 %q0, %r9;
    atom.global.add.u64 %q3, [%out], %q0;)"));
  GlobalMemory memory;
  const auto out = memory.allocate(16384), in = memory.allocate(16384);
  Scheduler scheduler;
  run(kernel.program, "test", arguments(out, in), grid, memory, scheduler, {.sms = 3});
  // Over all threads: x 0.5, y 1, z 0.5 on average.
  EXPECT_EQ(memory.read<std::uint64_t>(out), 12u * 16 * (30000 + 3000) + 12 * 16 / 2 * (1 + 20 + 100));
}

TEST(Control, AnUnknownInstructionRegisterOrLabelIsRefusedWithItsLine) {
  for (const auto& [body, named] : std::initializer_list<std::pair<const char*, const char*>>{
           {"frobnicate.u32 %r0, 1;", "frobnicate.u32 %r0, 1;"},
           {"mov.u32 %r0, %nowhere;", "%nowhere"},
           {"bra NOWHERE;", "NOWHERE"},
           {"add.f16 %r0;", "add.f16 %r0;"},
           {"barrier.cluster.arrive;", "barrier.cluster.arrive;"}}) {
    EXPECT_THAT(message_of<InvalidInput>([&] { Kernel kernel(snippet(body)); }), naming("PTX line", named));
  }
}

TEST(Control, TrapsAndMissingBodiesAreFaults) {
  EXPECT_THROW(word_of("trap;"), Fault);
  EXPECT_THROW(words_of(snippet("call.uni outside;", ".extern .func outside ();"), {}, {}), Fault);
}

TEST(Control, ArgumentsMustFit) {
  const Kernel kernel(snippet(""));
  GlobalMemory memory;
  Scheduler scheduler;
  EXPECT_THROW(run(kernel.program, "test", arguments(1), {}, memory, scheduler), InvalidInput);
  EXPECT_THROW(run(kernel.program, "test", arguments(1, 2), {}, memory, scheduler), InvalidInput);
  EXPECT_THROW(run(kernel.program, "nothing", {}, {}, memory, scheduler), InvalidInput);
}

}  // namespace
}  // namespace gpushare::interpreter
