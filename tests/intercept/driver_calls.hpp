// SPDX-License-Identifier: Apache-2.0
// The driver as programs find it, by libcuda.so.1 and dlsym, and a context with code in it.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace intercepted {

#define PROGRAM_STRING(name) #name
#define PROGRAM_EXPORTED_AS(name) PROGRAM_STRING(name)

inline void* driver_library() {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return library;
}

inline void* symbol(const char* name) {
  void* const found = dlsym(driver_library(), name);
  if (found == nullptr) throw std::runtime_error(std::string("no ") + name);
  return found;
}

/// cu(cuMemAlloc)(&address, bytes): as cuda.h spells it.
#define cu(name) (reinterpret_cast<decltype(&name)>(intercepted::symbol(PROGRAM_EXPORTED_AS(name))))

inline void check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) throw std::runtime_error(std::string(what) + " says " + std::to_string(result));
}

#define CHECK(call) intercepted::check(call, #call)

/// Each value becomes 3 times itself plus 1, so many times: no launch can be left out, or come twice, unseen.
inline const char* const code = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry step(.param .u64 values, .param .u32 rounds)
{
  .reg .pred %p<2>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [values];
  ld.param.u32 %r1, [rounds];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  mul.wide.u32 %rd2, %r5, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r6, [%rd3];
again:
  mad.lo.s32 %r6, %r6, 3, 1;
  sub.s32 %r1, %r1, 1;
  setp.gt.s32 %p1, %r1, 0;
  @%p1 bra again;
  st.global.u32 [%rd3], %r6;
  ret;
}
.visible .entry other(.param .u64 values, .param .u32 rounds)
{
  ret;
}
.visible .entry ncclDevKernel_AllReduce_Sum_f32_RING_LL(.param .u64 values, .param .u32 rounds)
{
  ret;
}
)";

}  // namespace intercepted
