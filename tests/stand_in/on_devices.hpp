// SPDX-License-Identifier: Apache-2.0
// The driver's functions, as a program finds them by dlsym, and two devices with a stream and some kernels on each.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace gpushare::stand_in::test {

inline void* symbol(const char* name) {
  static void* const library = dlopen(STAND_IN_GPU, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  void* const found = dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(std::string("no ") + name);
  return found;
}

#define STAND_IN_STRING(name) #name
#define STAND_IN_EXPORTED_AS(name) STAND_IN_STRING(name)
/// cu(cuMemAlloc)(&address, bytes): as cuda.h spells it.
#define cu(name) (reinterpret_cast<decltype(&name)>(gpushare::stand_in::test::symbol(STAND_IN_EXPORTED_AS(name))))
#define CHECK(call) gpushare::stand_in::test::check(call, #call)

inline void check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) throw std::runtime_error(std::string(what) + " says " + std::to_string(result));
}

inline const char* const kernels = R"(.version 8.0
.target sm_90
.address_size 64
.visible .global .u32 own = 40;
.visible .entry copy_word(.param .u64 to, .param .u64 from)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  ld.global.u32 %r1, [%rd2];
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry meet(.param .u64 said, .param .u64 awaited)
{
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [said];
  ld.param.u64 %rd2, [awaited];
  st.volatile.global.u32 [%rd1], 1;
again:
  ld.volatile.global.u32 %r1, [%rd2];
  setp.ne.u32 %p1, %r1, 1;
  @%p1 bra again;
  ret;
}
.visible .entry count(.param .u64 counter, .param .u64 times)
{
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [counter];
  ld.param.u64 %rd2, [times];
again:
  atom.global.sys.add.u32 %r1, [%rd1], 1;
  sub.u64 %rd2, %rd2, 1;
  setp.ne.u64 %p1, %rd2, 0;
  @%p1 bra again;
  ret;
}
.visible .entry next(.param .u64 to, .param .u64 unused)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [to];
  ld.global.u32 %r1, [own];
  add.u32 %r2, %r1, 1;
  st.global.u32 [own], %r2;
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

/// A device with its primary context, a stream of it, and the kernels.
class OnDevice {
 public:
  explicit OnDevice(int ordinal) : number(ordinal) {
    CHECK(cu(cuInit)(0));
    CHECK(cu(cuDevicePrimaryCtxRetain)(&context, ordinal));
    make_current();
    CHECK(cu(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cu(cuModuleLoadData)(&module, kernels));
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    cu(cuCtxSetCurrent)(context);
    cu(cuStreamDestroy)(stream);
    cu(cuModuleUnload)(module);
  }

  void make_current() const { CHECK(cu(cuCtxSetCurrent)(context)); }

  CUdeviceptr plain(std::uint32_t value) const {
    make_current();
    CUdeviceptr made = 0;
    CHECK(cu(cuMemAlloc)(&made, sizeof value));
    set(made, value);
    return made;
  }
  CUdeviceptr pooled(std::uint32_t value) const {
    CUdeviceptr made = 0;
    CHECK(cu(cuMemAllocAsync)(&made, sizeof value, stream));
    set(made, value);
    return made;
  }
  void set(CUdeviceptr to, std::uint32_t value) const {
    CHECK(cu(cuMemcpyHtoDAsync)(to, &value, sizeof value, stream));
    CHECK(wait());
  }
  std::uint32_t value(CUdeviceptr from) const {
    std::uint32_t read = 0;
    CHECK(cu(cuMemcpyDtoHAsync)(&read, from, sizeof read, stream));
    CHECK(wait());
    return read;
  }

  CUfunction function(const char* name) const {
    CUfunction found = nullptr;
    CHECK(cu(cuModuleGetFunction)(&found, module, name));
    return found;
  }
  void launch(CUfunction function, std::uint64_t first, std::uint64_t second) const {
    std::array<void*, 2> arguments{&first, &second};
    CHECK(cu(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments.data(), nullptr));
  }
  void launch(const char* name, std::uint64_t first, std::uint64_t second) const {
    launch(function(name), first, second);
  }
  CUresult wait() const { return cu(cuStreamSynchronize)(stream); }

  /// What kernels of this device may access besides their own.
  CUresult enable(const OnDevice& peer) const {
    make_current();
    return cu(cuCtxEnablePeerAccess)(peer.context, 0);
  }
  CUresult disable(const OnDevice& peer) const {
    make_current();
    return cu(cuCtxDisablePeerAccess)(peer.context);
  }

  int number;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUmodule module = nullptr;
};

class OnTwoDevices : public testing::Test {
 protected:
  OnTwoDevices() : log_(std::filesystem::path(testing::TempDir()) / ("stand-in log " + std::to_string(getpid()))) {
    setenv("GPUSHARE_STAND_IN_LOG", log_.c_str(), 1);
  }
  ~OnTwoDevices() override { std::filesystem::remove(log_); }

  /// What was asked that no correct program asks, and kernels' faults.
  std::string log() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void TearDown() override { EXPECT_EQ(log(), ""); }
  void forget_log() { std::filesystem::remove(log_); }

  OnDevice first{0};
  OnDevice second{1};

 private:
  std::filesystem::path log_;
};

}  // namespace gpushare::stand_in::test
