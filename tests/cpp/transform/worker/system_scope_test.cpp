// SPDX-License-Identifier: Apache-2.0
#include "core/transform/worker/system_scope.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "core/transform/worker/preemptible.hpp"
#include "transform/sample_ptx.hpp"

namespace gpushare::ptx {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string refusal_on_several(const std::string& ptx) {
  const Transformed transformed = make_preemptible(ptx, {}, Reach::SeveralDevices);
  const auto* refusal = std::get_if<Refusal>(&transformed.kernels.at(0).outcome);
  return refusal == nullptr ? "" : refusal->reason;
}

TEST(SystemScope, AtomicsAndFencesOfTheDeviceGetIt) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"atom.global.add.u32 %r1, [%rd1], 1;", "atom.sys.global.add.u32 %r1, [%rd1], 1;"},
      {"@%p1 red.global.add.f32 [%rd1], %r1;", "@%p1 red.sys.global.add.f32 [%rd1], %r1;"},
      {"atom.acq_rel.gpu.global.cas.b32 %r1, [%rd1], %r2, %r3;",
       "atom.acq_rel.sys.global.cas.b32 %r1, [%rd1], %r2, %r3;"},
      {"atom.relaxed.global.add.u32 %r1, [%rd1], 1;", "atom.relaxed.sys.global.add.u32 %r1, [%rd1], 1;"},
      {"atom.add.u32 %r1, [%rd1], 1;", "atom.sys.add.u32 %r1, [%rd1], 1;"},
      {"membar.gl;", "membar.sys;"},
      {"fence.acq_rel.gpu;", "fence.acq_rel.sys;"},
      {"st.release.gpu.global.u32 [%rd1], %r1;", "st.release.sys.global.u32 [%rd1], %r1;"},
  };
  for (const auto& [before, after] : cases) {
    EXPECT_THAT(with_system_scope(Module(module_with(before + "\nret;\n"))), HasSubstr(after));
  }
}

TEST(SystemScope, WhatStaysInTheBlockIsLeft) {
  for (const std::string same :
       {"atom.shared.add.u32 %r1, [%rd1], 1;", "atom.cta.global.add.u32 %r1, [%rd1], 1;", "membar.cta;",
        "atom.sys.global.add.u32 %r1, [%rd1], 1;", "ld.global.u32 %r1, [%rd1];", "fence.sc.cta;"}) {
    EXPECT_THAT(with_system_scope(Module(module_with(same + "\nret;\n"))), HasSubstr("\n" + same + "\n"));
  }
}

TEST(SystemScope, WorkersClaimFromTheCounterOfAllAndCountOnTheirOwnDevice) {
  const std::string ptx = module_with("mov.u32 %r1, %ctaid.x;\nret;\n");
  const std::string text = make_preemptible(ptx, {}, Reach::SeveralDevices).ptx;
  EXPECT_THAT(text, HasSubstr("[gpushare_worker+64];\n"));
  EXPECT_THAT(text, HasSubstr("atom.sys.global.add.u32 \t%gpushare_next, [%gpushare_b], %gpushare_j;"));
  EXPECT_THAT(text, HasSubstr("red.global.or.b32 \t[%gpushare_b], -2147483648;"));
  EXPECT_THAT(make_preemptible(ptx).ptx, Not(HasSubstr(".sys")));
}

TEST(SystemScope, KernelsThatNeedOneDeviceAreRefused) {
  const std::string loop =
      "again:\nld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra again;\nret;\n";
  EXPECT_THAT(refusal_on_several(module_with(loop)), HasSubstr("wait"));
  EXPECT_THAT(refusal_on_several(module_with("ld.volatile.global.u32 %r1, [%rd1];\nret;\n")), HasSubstr("volatile"));
  EXPECT_EQ(refusal_on_several(module_with("ld.volatile.shared.u32 %r1, [%rd1];\nret;\n")), "");
  EXPECT_THAT(refusal_on_several(module_with("multimem.red.release.gpu.global.add.u32 [%rd1], %r1;\nret;\n")),
              HasSubstr("one GPU"));
  EXPECT_THAT(refusal_on_several(module_with("atom.global.add.u32 %r1, [%rd1], 1;\nret;\n")), "");
  const std::string heap = ".extern .func (.param .b64 r) malloc (.param .b64 n);\n";
  EXPECT_THAT(refusal_on_several(module_with("{\n.param .b64 n;\n.param .b64 r;\nst.param.b64 [n], 8;\n"
                                             "call.uni (r), malloc, (n);\n}\nret;\n",
                                             heap)),
              HasSubstr("malloc"));
}

}  // namespace
}  // namespace gpushare::ptx
