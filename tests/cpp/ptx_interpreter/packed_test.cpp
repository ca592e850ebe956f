// SPDX-License-Identifier: Apache-2.0
// Instructions on fields, bytes and halfwords of a word. The expected values follow the pseudo code of the PTX manual.
#include <gtest/gtest.h>

#include "ptx_interpreter/one_instruction.hpp"

namespace gpushare::interpreter {
namespace {

using namespace test;

class PackedInstructions : public testing::TestWithParam<Case> {};
TEST_P(PackedInstructions, LeaveTheValue) { EXPECT_EQ(word_of(with_store(GetParam().body)), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(
    Fields, PackedInstructions,
    testing::Values(Case{"bfind.shiftamt.u32 %r0, 0x00010000;", 15}, Case{"bfind.shiftamt.s32 %r0, -5;", 29},
                    Case{"bfind.shiftamt.u64 %r0, 0;", 0xffffffff}, Case{"bmsk.clamp.b32 %r0, 3, 8;", 0x7f8},
                    Case{"bmsk.clamp.b32 %r0, 28, 8;", 0xf0000000}, Case{"bmsk.clamp.b32 %r0, 32, 8;", 0},
                    Case{"bmsk.wrap.b32 %r0, 33, 34;", 6}, Case{"bmsk.clamp.b32 %r0, 0, 40;", 0xffffffff},
                    Case{"szext.wrap.s32 %r0, 0x1d, 5;", 0xfffffffd}, Case{"szext.wrap.u32 %r0, 0xfd, 5;", 0x1d},
                    Case{"szext.clamp.s32 %r0, 0x80000001, 32;", 0x80000001},
                    Case{"szext.wrap.s32 %r0, 0x80000001, 32;", 0}, Case{"fns.b32 %r0, 0xf0, 0, 2;", 5},
                    Case{"fns.b32 %r0, 0xf0, 6, -2;", 5}, Case{"fns.b32 %r0, 0xf0, 4, 0;", 4},
                    Case{"fns.b32 %r0, 0xf0, 3, 0;", 0xffffffff}, Case{"fns.b32 %r0, 0xf0, 6, 3;", 0xffffffff}));

INSTANTIATE_TEST_SUITE_P(
    Bytes, PackedInstructions,
    testing::Values(Case{"prmt.b32.f4e %r0, 0x33221100, 0x77665544, 3;", 0x66554433},
                    Case{"prmt.b32.b4e %r0, 0x33221100, 0x77665544, 1;", 0x66770011},
                    Case{"prmt.b32.rc8 %r0, 0x33221100, 0x77665544, 2;", 0x22222222},
                    Case{"prmt.b32.ecl %r0, 0x33221100, 0x77665544, 1;", 0x33221111},
                    Case{"prmt.b32.ecr %r0, 0x33221100, 0x77665544, 2;", 0x22221100},
                    Case{"prmt.b32.rc16 %r0, 0x33221100, 0x77665544, 1;", 0x33223322},
                    Case{"dp2a.lo.s32.s32 %r0, 0x0002ffff, 0x010203fe, 10;", 10 + 2 + 6},
                    Case{"dp2a.hi.u32.u32 %r0, 0x0002ffff, 0x0102ffff, 1;", 1 + 2 * 0xffff + 2},
                    Case{"vadd4.u32.u32.u32 %r0, 0x01ff0203, 0x01010101, 0;", 0x02000304},
                    Case{"vadd4.u32.u32.u32.sat %r0, 0x01ff0203, 0x01010101, 0;", 0x02ff0304},
                    Case{"vsub4.s32.s32.s32.sat %r0, 0x80000000, 0x01000000, 0;", 0x80000000},
                    Case{"vabsdiff4.u32.u32.u32 %r0, 0x01ff0003, 0x02000100, 0;", 0x01ff0103},
                    Case{"vabsdiff4.u32.u32.u32.add %r0, 0x01ff0003, 0x02000100, 9;", 9 + 1 + 255 + 1 + 3},
                    Case{"vabsdiff4.s32.s32.s32.add %r0, 0x01ff0003, 0x02000100, 9;", 9 + 1 + 1 + 1 + 3},
                    Case{"vmin4.s32.s32.s32 %r0, 0xff017f00, 0x00020001, 0;", 0xff010000},
                    Case{"vmax2.u32.u32.u32 %r0, 0xffff0001, 0x00010002, 0;", 0xffff0002},
                    Case{"vabsdiff2.s32.s32.s32 %r0, 0xffff0001, 0x00010003, 0;", 0x00020002}));

INSTANTIATE_TEST_SUITE_P(Halves, PackedInstructions,
                         testing::Values(Case{"add.u16x2 %r0, 0xffff0001, 0x00020003;", 0x00010004},
                                         Case{"min.s16x2 %r0, 0xffff0001, 0x00020003;", 0xffff0001},
                                         Case{"max.s16x2.relu %r0, 0xfffffffe, 0xfffe0003;", 0x00000003},
                                         Case{"min.s32.relu %r0, -5, 3;", 0}, Case{"max.s32.relu %r0, -5, 3;", 3},
                                         Case{"mov.b32 %r1, 0x3C00BC00; fma.rn.relu.f16x2 %r0, %r1, 0x40004000, %r1;",
                                              0x42000000},
                                         Case{"cvt.rn.relu.f16.f32 %h0, 0fBF800000;", 0},
                                         Case{"cvt.rn.relu.f16x2.f32 %r0, 0fBF800000, 0f3F800000;", 0x00003C00},
                                         Case{"set.gt.f16x2.f16x2 %r0, 0x3C000000, 0x00003C00;", 0x3C000000},
                                         Case{"set.gt.u32.f16x2 %r0, 0x3C000000, 0x00003C00;", 0xffff0000},
                                         Case{"mov.b16 %h1, 0x3C00; set.ge.f16.f16 %h0, %h1, %h1;", 0x3C00},
                                         Case{"mov.b16 %h1, 0x3F80; set.ge.bf16.bf16 %h0, %h1, %h1;", 0x3F80},
                                         Case{"setp.gt.f16x2 %p0|%p1, 0x00003C00, 0x3C000000;", 1},
                                         Case{"setp.gt.f16x2 %p1|%p0, 0x00003C00, 0x3C000000;", 0}));

TEST(Addresses, OfVariablesTakeOffsets) {
  const std::string variable = ".global .align 4 .u32 primes[4] = {2, 3, 5, 7};\n";
  const std::string body =
      "mov.u64 %q1, primes+12; ld.global.u32 %r1, [%q1]; mov.u64 %q2, primes+4; "
      "ld.global.u32 %r2, [%q2]; mad.lo.u32 %r0, %r1, 100, %r2; st.global.u32 [%o], %r0;";
  EXPECT_EQ(words_of(snippet(body, variable), {}, {.threads = {1}}).front(), 703u);
}

}  // namespace
}  // namespace gpushare::interpreter
