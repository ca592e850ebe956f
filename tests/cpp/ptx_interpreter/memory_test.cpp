// SPDX-License-Identifier: Apache-2.0
// State spaces, generic addresses, vectors, atomics, variables of the module, and hooks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages.hpp"
#include "ptx_interpreter/sample_kernels.hpp"

namespace gpushare::interpreter {
namespace {

using namespace test;
using gpushare::test::message_of;
using gpushare::test::naming;
using testing::ElementsAre;

TEST(Memory, LoadsExtendToTheRegister) {
  EXPECT_EQ(word_of("ld.global.s8 %r1, [%i]; cvt.s64.s32 %q0, %r1;" + store_q0, {0xff}), ~0ull);
  EXPECT_EQ(word_of("ld.global.u8 %r1, [%i]; cvt.s64.s32 %q0, %r1;" + store_q0, {0xff}), 255u);
  EXPECT_EQ(word_of("ld.relaxed.sys.global.u64 %q0, [%i+8];" + store_q0, {1, 2}), 2u);
  EXPECT_EQ(word_of("add.u64 %i, %i, 16; ld.acquire.gpu.b64 %q0, [%i+-8];" + store_q0, {1, 2, 3}), 2u);
}

TEST(Memory, Vectors) {
  EXPECT_EQ(word_of("ld.global.nc.L1::no_allocate.v4.u32 {%r0, %r1, _, %r3}, [%i]; st.global.v2.b32 [%o], {%r3, %r1};",
                    {0x200000001, 0x400000003}),
            0x200000004u);
}

TEST(Memory, GenericAddressesReachEverySpace) {
  const std::string body = R"(.shared .align 8 .b8 s[16]; .local .align 8 .b8 l[16];
    mov.u64 %q1, s; cvta.shared.u64 %q1, %q1; mov.u64 %q2, 5; st.u64 [%q1+8], %q2; ld.shared.u64 %q3, [s+8];
    mov.u64 %q4, l; cvta.local.u64 %q4, %q4; mov.u64 %q2, 70; st.u64 [%q4], %q2; ld.local.u64 %q5, [l];
    mov.u64 %q6, in; cvta.param.u64 %q6, %q6; ld.u64 %q7, [%q6]; ld.global.u64 %q7, [%q7];
    isspacep.shared %p1, %q1; isspacep.global %p2, %out; isspacep.local %p3, %q1;
    selp.u64 %q8, 1000, 0, %p1; selp.u64 %q9, 2000, 0, %p2; selp.u64 %q10, 10000, 0, %p3;
    cvta.to.shared.u64 %q1, %q1; ld.shared.u64 %q11, [%q1+8];
    add.u64 %q0, %q3, %q5; add.u64 %q0, %q0, %q7; add.u64 %q0, %q0, %q8; add.u64 %q0, %q0, %q9;
    add.u64 %q0, %q0, %q10; sub.u64 %q11, %q11, 5; add.u64 %q0, %q0, %q11;)";
  EXPECT_EQ(word_of(body + store_q0, {300}), 5u + 70 + 300 + 1000 + 2000);
}

TEST(Memory, ModuleVariables) {
  const std::string variables = R"(
    .visible .global .align 4 .u32 table[2][2] = {{1, 2}, {3, 0x10}};
    .const .align 8 .f64 half = 0d3FE0000000000000;
    .global .align 8 .u64 pointers[2] = {generic(table)+12, table};
    .global .align 1 .b8 text[4] = {65, 66};
    .shared .align 4 .u32 shared_word;)";
  const std::string body = R"(
    ld.global.u64 %q1, [pointers]; ld.u32 %r1, [%q1]; ld.const.f64 %d1, [half]; cvt.rpi.s32.f64 %r2, %d1;
    ld.global.u8 %r3, [text+1]; st.shared.u32 [shared_word], %r3; ld.shared.u32 %r4, [shared_word];
    mov.u64 %q2, table; ld.global.u32 %r5, [%q2+4];
    add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5; cvt.u64.u32 %q0, %r1;)";
  EXPECT_EQ(words_of(snippet(body + store_q0, variables), {}, {.threads = {1}}).front(), 16u + 1 + 66 + 2);
}

TEST(Memory, Atomics) {
  const auto after = [](const std::string& what, std::uint64_t old) {
    return word_of("st.global.u64 [%o], %q31;" + what, {old});
  };
  const std::string load = "ld.global.u64 %q31, [%i]; st.global.u64 [%o], %q31;";
  EXPECT_EQ(after(load + "atom.global.add.u32 %r0, [%o], 7;", 5), 12u);
  EXPECT_EQ(after(load + "red.relaxed.gpu.global.max.s32 [%o], -4;", 0xfffffff0), 0xfffffffcu);
  EXPECT_EQ(after(load + "atom.global.min.u64 %q1, [%o], 3;", 5), 3u);
  EXPECT_EQ(after(load + "atom.global.inc.u32 %r0, [%o], 5;", 5), 0u);
  EXPECT_EQ(after(load + "atom.global.dec.u32 %r0, [%o], 5;", 0), 5u);
  EXPECT_EQ(after(load + "atom.global.cas.b64 %q1, [%o], 5, 9;", 5), 9u);
  EXPECT_EQ(after(load + "atom.global.exch.b32 %r1, [%o], 8;", 5), 8u);
  const std::string one_and_two = "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000; ";
  EXPECT_EQ(after(load + one_and_two + "red.global.add.v2.f32 [%o], {%f1, %f2};", 0x3F80000040000000),
            0x4040000040400000u);
  EXPECT_EQ(after(load + one_and_two + "atom.global.v2.f32.add {%f3, %f4}, [%o], {%f1, %f1}; st.global.f32 [%o], %f4;",
                  0x4000000000000000),
            0x4040000040000000u);
  EXPECT_EQ(after(load + "red.global.and.b32 [%o], 4; red.global.or.b32 [%o], 1; red.global.xor.b32 [%o], 2;", 5), 7u);
  EXPECT_EQ(after(load + "atom.add.f32 %f0, [%o], 0f3F800000;", 0x3F800000), 0x40000000u);
  EXPECT_EQ(after(load + "atom.global.add.f64 %d0, [%o], 1.0;", 0x3FF0000000000000), 0x4000000000000000u);
}

TEST(Memory, AsynchronousCopiesAreDoneAtOnce) {
  const std::string body = R"(.shared .align 16 .b8 s[16];
    cp.async.ca.shared.global [s], [%in], 16, 8; cp.async.commit_group; cp.async.wait_group 0;
    ld.shared.u64 %q0, [s]; ld.shared.u64 %q1, [s+8]; add.u64 %q0, %q0, %q1;)";
  EXPECT_EQ(word_of(body + store_q0, {6, 1}), 6u);
}

std::string fault_of(const std::string& body) {
  return message_of<Fault>([&] { word_of(body); });
}

TEST(Memory, AFaultNamesKernelThreadInstructionAndByte) {
  EXPECT_THAT(fault_of("ld.global.u64 %q0, [%out+8];"),
              naming("test", "block (0,0,0)", "thread (0,0,0)", "ld.global.u64 %q0, [%out+8];", "byte 8", "out"));
  EXPECT_THAT(fault_of("ld.global.u32 %r0, [%out+2];"), naming("[%out+2]"));
  EXPECT_THAT(fault_of(".shared .u32 s; st.shared.u32 [s+16], %t;"), naming("[s+16]"));
  EXPECT_THAT(fault_of("mov.u64 %q0, 0; st.u32 [%q0], %t;"), naming("st.u32 [%q0], %t;"));
}

TEST(Memory, HooksComeBeforeTheLoad) {
  const Kernel kernel(snippet(R"(
    mov.u32 %r0, 0;
   POLL: add.u32 %r0, %r0, 1;
    ld.relaxed.sys.global.u32 %r1, [%in];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra POLL;
    st.global.u32 [%o], %r0;)"));
  for (std::uint64_t poll = 1; poll < 6; ++poll) {
    GlobalMemory memory;
    const auto out = memory.allocate(8), in = memory.allocate(8);
    memory.watch(in, 4, [&](GlobalMemory& changed, const Access& access) {
      EXPECT_EQ(access.kind, Access::Kind::Load);
      if (access.count == poll) changed.write<std::uint32_t>(in, 1);
    });
    Scheduler scheduler;
    run(kernel.program, "test", arguments(out, in), {}, memory, scheduler);
    EXPECT_EQ(memory.read<std::uint32_t>(out), poll);
  }
}

TEST(Memory, IsAccessibleToTheDevicesThatAreNamed) {
  GlobalMemory memory;
  const auto ours = memory.allocate(8), theirs = memory.allocate(8);
  memory.let_access(ours, 0b01);
  memory.let_access(theirs, 0b11);
  EXPECT_NE(memory.find(ours, 4, 0b01), nullptr);
  EXPECT_EQ(memory.find(ours, 4, 0b10), nullptr);
  EXPECT_NE(memory.find(theirs, 4, 0b10), nullptr);
  EXPECT_TRUE(memory.is_of_others(ours + 4, 0b10));
  EXPECT_FALSE(memory.is_of_others(theirs, 0b10));
  EXPECT_FALSE(memory.is_of_others(8, 0b10));
  EXPECT_NE(memory.find_range(ours, 8), nullptr);
}

TEST(Memory, DifferenceNamesTheByte) {
  GlobalMemory left, right;
  for (GlobalMemory* each : {&left, &right}) each->allocate(std::vector<int>{1, 2, 3}, "numbers");
  EXPECT_EQ(GlobalMemory::difference(left, right), "");
  right.write(right.allocate(4), 1);
  EXPECT_NE(GlobalMemory::difference(left, right), "");
  left.allocate(4);
  EXPECT_THAT(GlobalMemory::difference(left, right), naming("byte 0", 0, 1));
}

}  // namespace
}  // namespace gpushare::interpreter
