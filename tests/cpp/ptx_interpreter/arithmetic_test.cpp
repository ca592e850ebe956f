// SPDX-License-Identifier: Apache-2.0
// One instruction at a time: what it leaves in a 64-bit word.
#include <gtest/gtest.h>

#include <cmath>

#include "ptx_interpreter/one_instruction.hpp"

namespace gpushare::interpreter {
namespace {

using namespace test;

class Instructions : public testing::TestWithParam<Case> {};
TEST_P(Instructions, LeaveTheValue) { EXPECT_EQ(word_of(with_store(GetParam().body)), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(
    Integers, Instructions,
    testing::Values(Case{"add.u32 %r0, 0xffffffff, 2;", 1}, Case{"sub.s64 %q0, 1, 3;", ~0ull - 1},
                    Case{"add.sat.s32 %r0, 0x7fffffff, 5;", 0x7fffffff}, Case{"mul.lo.s32 %r0, -3, 5;", 0xfffffff1},
                    Case{"mul.hi.u32 %r0, 0x80000000, 6;", 3}, Case{"mul.hi.s64 %q0, -1, 5;", ~0ull},
                    Case{"mul.wide.s32 %q0, -2, 3;", ~0ull - 5}, Case{"mul.wide.u16 %r0, 65535, 65535;", 0xfffe0001},
                    Case{"mad.lo.u32 %r0, 3, 4, 5;", 17},
                    Case{"mov.u64 %q1, 1; mad.wide.u32 %q0, 0x80000000, 4, %q1;", 0x200000001},
                    Case{"div.s32 %r0, -7, 2;", 0xfffffffd}, Case{"rem.s32 %r0, -7, 2;", 0xffffffff},
                    Case{"div.u64 %q0, 100, 7;", 14}, Case{"div.s32 %r0, 0x80000000, -1;", 0x80000000},
                    Case{"abs.s32 %r0, -9;", 9}, Case{"neg.s16 %h0, 5;", 0xfffb},
                    Case{"min.s32 %r0, -1, 1;", 0xffffffff}, Case{"min.u32 %r0, -1, 1;", 1},
                    Case{"max.s64 %q0, -1, 1;", 1}, Case{"sad.u32 %r0, 3, 10, 100;", 107},
                    Case{"mul24.lo.s32 %r0, 0x01000003, 2;", 6}, Case{"mad24.lo.u32 %r0, 3, 4, 5;", 17},
                    Case{"mov.u32 %r1, -1; add.cc.u32 %r2, %r1, 1; addc.u32 %r0, 5, 6;", 12},
                    Case{"sub.cc.u32 %r2, 0, 1; subc.u32 %r0, 9, 2;", 6},
                    Case{"mad.lo.cc.u32 %r2, 0x80000000, 3, 0x80000000; madc.hi.u32 %r0, 0x80000000, 3, 7;", 9}));

INSTANTIATE_TEST_SUITE_P(
    Bits, Instructions,
    testing::Values(Case{"and.b32 %r0, 12, 10;", 8}, Case{"or.b64 %q0, 12, 3;", 15}, Case{"xor.b16 %h0, 5, 1;", 4},
                    Case{"not.b32 %r0, 0;", 0xffffffff}, Case{"cnot.b32 %r0, 0;", 1},
                    Case{"shl.b32 %r0, 1, 31;", 0x80000000}, Case{"shl.b32 %r0, 1, 32;", 0},
                    Case{"shr.u32 %r0, 0x80000000, 31;", 1}, Case{"shr.s32 %r0, 0x80000000, 40;", 0xffffffff},
                    Case{"shr.s64 %q0, -8, 1;", ~0ull - 3}, Case{"popc.b64 %r0, -1;", 64}, Case{"clz.b32 %r0, 1;", 31},
                    Case{"clz.b64 %r0, 0;", 64}, Case{"brev.b32 %r0, 1;", 0x80000000},
                    Case{"bfind.u32 %r0, 0;", 0xffffffff}, Case{"bfind.s32 %r0, -5;", 2},
                    Case{"bfe.u32 %r0, 0xabcd, 4, 8;", 0xbc}, Case{"bfe.s32 %r0, 0xabcd, 4, 8;", 0xffffffbc},
                    Case{"bfe.s32 %r0, 0x80000000, 28, 16;", 0xfffffff8}, Case{"bfi.b32 %r0, 0xf, 0, 8, 2;", 0x300},
                    Case{"bfi.b64 %q0, -1, 0, 60, 8;", 0xf000000000000000},
                    Case{"prmt.b32 %r0, 0x44332211, 0x88776655, 0x7531;", 0x88664422},
                    Case{"prmt.b32 %r0, 0x80, 0, 0x1118;", 0x000000ff},
                    Case{"shf.l.wrap.b32 %r0, 0x80000000, 1, 33;", 3}, Case{"shf.r.clamp.b32 %r0, 7, 9, 40;", 9},
                    Case{"lop3.b32 %r0, 12, 10, 6, 0x96;", 0}, Case{"lop3.b32 %r0, 12, 10, 6, 0xe8;", 14},
                    Case{"dp4a.s32.s32 %r0, 0x01ff0201, 0x01010101, 10;", 13},
                    Case{"mov.pred %p1, 1; not.pred %p2, %p1; xor.pred %p0, %p1, %p2;", 1}));

INSTANTIATE_TEST_SUITE_P(
    Reals, Instructions,
    testing::Values(
        Case{"add.f32 %f0, 0f3F800000, 0f40000000;", bits(3.0f)}, Case{"sub.f64 %d0, 1.5, 0.25;", bits(1.25)},
        Case{"fma.rn.f32 %f0, 0f3F800001, 0f3F800001, 0fBF800000;", bits(std::fma(1.0000001f, 1.0000001f, -1.0f))},
        Case{"add.rp.f32 %f0, 0f3F800000, 0f2F800000;", bits(std::nextafter(1.0f, 2.0f))},
        Case{"add.rz.f32 %f0, 0f3F800000, 0f2F800000;", bits(1.0f)}, Case{"div.rm.f64 %d0, 1.0, 3.0;", bits(1.0 / 3)},
        Case{"div.rp.f64 %d0, 1.0, 3.0;", bits(std::nextafter(1.0 / 3, 1))},
        Case{"add.sat.f32 %f0, 0f3F800000, 0f3F800000;", bits(1.0f)},
        Case{"mul.ftz.f32 %f0, 0f00400000, 0f3F800000;", 0}, Case{"mul.f32 %f0, 0f00400000, 0f3F800000;", 0x400000},
        Case{"min.f32 %f0, 0f7FC00000, 0f3F800000;", bits(1.0f)}, Case{"max.f32 %f0, 0f80000000, 0f00000000;", 0},
        Case{"neg.f64 %d0, 2.0;", bits(-2.0)}, Case{"abs.f32 %f0, 0fBF800000;", bits(1.0f)},
        Case{"copysign.f32 %f0, 0fBF800000, 0f40000000;", bits(-2.0f)},
        Case{"rcp.rn.f32 %f0, 0f40800000;", bits(0.25f)}, Case{"sqrt.rn.f64 %d0, 2.0;", bits(std::sqrt(2.0))},
        Case{"rsqrt.approx.f32 %f0, 0f40800000;", bits(0.5f)}, Case{"ex2.approx.f32 %f0, 0f40400000;", bits(8.0f)},
        Case{"lg2.approx.f32 %f0, 0f41000000;", bits(3.0f)}, Case{"cos.approx.f32 %f0, 0f00000000;", bits(1.0f)},
        Case{"tanh.approx.f32 %f0, 0f00000000;", 0}, Case{"testp.infinite.f32 %p0, 0f7F800000;", 1},
        Case{"testp.notanumber.f64 %p0, 0d7FF8000000000000;", 1},
        Case{"mov.b16 %h1, 0x3C00; add.f16 %h0, %h1, %h1;", 0x4000},
        Case{"mov.b32 %r1, 0x40003C00; fma.rn.f16x2 %r0, %r1, %r1, %r1;", 0x46004000},
        Case{"mov.b16 %h1, 0x3F80; mul.bf16 %h0, %h1, %h1;", 0x3F80}));

INSTANTIATE_TEST_SUITE_P(
    Conversions, Instructions,
    testing::Values(Case{"cvt.s64.s32 %q0, -1;", ~0ull}, Case{"cvt.u64.u32 %q0, -1;", 0xffffffff},
                    Case{"cvt.u32.u8 %r0, 0x1ff;", 255}, Case{"cvt.s32.s8 %r0, 0x80;", 0xffffff80},
                    Case{"cvt.sat.u8.s32 %r0, 300;", 255}, Case{"cvt.sat.u8.s32 %r0, -3;", 0},
                    Case{"cvt.rn.f32.s32 %f0, 16777217;", bits(16777216.0f)},
                    Case{"cvt.rp.f32.s32 %f0, 16777217;", bits(16777218.0f)},
                    Case{"cvt.rzi.s32.f32 %r0, 0fC0200000;", 0xfffffffe}, Case{"cvt.rni.s32.f32 %r0, 0f40200000;", 2},
                    Case{"cvt.rmi.s32.f32 %r0, 0fC0200000;", 0xfffffffd},
                    Case{"cvt.rpi.f32.f32 %f0, 0f40200000;", bits(3.0f)}, Case{"cvt.rzi.u32.f32 %r0, 0fBF800000;", 0},
                    Case{"cvt.rzi.s32.f32 %r0, 0f7F800000;", 0x7fffffff}, Case{"cvt.rzi.s32.f32 %r0, 0f7FC00000;", 0},
                    Case{"cvt.f64.f32 %d0, 0f3FC00000;", bits(1.5)}, Case{"cvt.rn.f32.f64 %f0, 0.1;", bits(0.1f)},
                    Case{"cvt.rz.f32.f64 %f0, 0.1;", bits(std::nextafter(0.1f, 0.0f))},
                    Case{"cvt.rn.f16.f32 %h0, 0f3F800000;", 0x3C00}, Case{"cvt.rn.f16.f32 %h0, 0f7F7FFFFF;", 0x7C00},
                    Case{"cvt.rn.f16.f32 %h0, 0f33800000;", 1},
                    Case{"mov.b16 %h1, 0x0001; cvt.f32.f16 %f0, %h1;", 0x33800000},
                    Case{"cvt.rn.bf16.f32 %h0, 0f3F808000;", 0x3F80},
                    Case{"cvt.rn.f16x2.f32 %r0, 0f40000000, 0f3F800000;", 0x40003C00},
                    Case{"cvt.sat.f32.f32 %f0, 0f40000000;", bits(1.0f)}));

INSTANTIATE_TEST_SUITE_P(
    Comparisons, Instructions,
    testing::Values(
        Case{"setp.lt.s32 %p0, -1, 1;", 1}, Case{"setp.lt.u32 %p0, -1, 1;", 0}, Case{"setp.hs.u32 %p0, 5, 5;", 1},
        Case{"setp.eq.f32 %p0, 0f7FC00000, 0f7FC00000;", 0}, Case{"setp.neu.f32 %p0, 0f7FC00000, 0f7FC00000;", 1},
        Case{"setp.ne.f32 %p0, 0f7FC00000, 0f7FC00000;", 0}, Case{"setp.nan.f64 %p0, 0d7FF8000000000000, 1.0;", 1},
        Case{"setp.num.f32 %p0, 0f3F800000, 0f3F800000;", 1},
        Case{"setp.eq.s32 %p1, 1, 1; setp.lt.and.s32 %p2|%p0, 2, 1, %p1;", 1},
        Case{"setp.eq.s32 %p1, 1, 1; setp.lt.xor.s32 %p0, 1, 2, !%p1;", 1},
        Case{"set.gt.u32.s32 %r0, 2, 1;", 0xffffffff}, Case{"set.gt.f32.s32 %f0, 2, 1;", bits(1.0f)},
        Case{"slct.u32.s32 %r0, 7, 8, -1;", 8}, Case{"setp.eq.u32 %p1, 0, 1; selp.b64 %q0, 1, 2, %p1;", 2},
        Case{"mov.b64 %q0, {1, 2};", 0x200000001}, Case{"mov.u64 %q1, 0x500000006; mov.b64 {%r0, %r1}, %q1;", 6},
        Case{"mov.b32 %r1, 0x00070008; mov.b32 {%h0, _}, %r1;", 8}, Case{"mov.u64 %q0, WARP_SZ;", 32}));

}  // namespace
}  // namespace gpushare::interpreter
