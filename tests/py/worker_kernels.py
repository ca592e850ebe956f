# SPDX-License-Identifier: Apache-2.0
"""Kernels for tests of workers, as PTX, and the lines by which tests/intercept/worker_program.cpp launches them."""

BLOCKS, THREADS = 48, 32
HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
PARAMETERS = "(.param .u64 values, .param .u32 rounds)"

# Each value becomes 3 times itself plus 1, so many times: no block can be left out, or run twice, unseen.
INDEX = """
  .reg .pred %p<3>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [values];
  ld.param.u32 %r1, [rounds];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  mul.wide.u32 %rd2, %r5, 4;
  add.s64 %rd3, %rd1, %rd2;
"""
CHANGE = """
  ld.global.u32 %r6, [%rd3];
again:
  mad.lo.s32 %r6, %r6, 3, 1;
  sub.s32 %r1, %r1, 1;
  setp.gt.s32 %p1, %r1, 0;
  @%p1 bra again;
"""
STEP = f".visible .entry step{PARAMETERS}\n{{{INDEX}{CHANGE}  st.global.u32 [%rd3], %r6;\n  ret;\n}}\n"
COUNT = f"""
.visible .global .align 4 .u32 total = 5;
.visible .entry count{PARAMETERS}
{{{INDEX}{CHANGE}
  st.global.u32 [%rd3], %r6;
  setp.ne.u32 %p2, %r4, 0;
  @%p2 bra done;
  atom.global.add.u32 %r7, [total], 1;
done:
  ret;
}}
"""
SHARED = f"""
.extern .shared .align 4 .b8 room[];
.visible .entry shared{PARAMETERS}
{{{INDEX}{CHANGE}
  mov.u32 %r8, room;
  mad.lo.s32 %r9, %r4, 4, %r8;
  st.shared.u32 [%r9], %r6;
  bar.sync 0;
  add.s32 %r10, %r4, 1;
  rem.u32 %r10, %r10, %r3;
  mad.lo.s32 %r11, %r10, 4, %r8;
  ld.shared.u32 %r12, [%r11];
  st.global.u32 [%rd3], %r12;
  ret;
}}
"""
REFUSED = f".visible .entry refused{PARAMETERS}\n{{{INDEX}{CHANGE}  griddepcontrol.wait;\n" + (
    "  mov.u32 %r13, %total_smem_size;\n  add.u32 %r6, %r6, %r13;\n  st.global.u32 [%rd3], %r6;\n  ret;\n}\n"
)
ALL = HEAD + STEP + COUNT + SHARED


def launch(name="step", rounds=1, how="pointers", shared=0, blocks=BLOCKS):
    """``how``: the way of the arguments."""
    return f"launch {name} {blocks} {THREADS} {shared} {rounds} {how}"
