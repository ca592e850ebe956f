// SPDX-License-Identifier: Apache-2.0
// Which device's kernels may access which memory: by cuCtxEnablePeerAccess, cuMemPoolSetAccess or cuMemSetAccess.
#include <gmock/gmock.h>

#include <functional>

#include "stand_in/on_devices.hpp"

namespace gpushare::stand_in::test {
namespace {

using testing::HasSubstr;

class PeerAccess : public OnTwoDevices {
 public:
  /// What a kernel of the second device does, in a process of its own: a device stays failed.
  static void expect_fault(const std::function<CUdeviceptr(PeerAccess&)>& address) {
    PeerAccess test;
    const CUdeviceptr from = address(test);
    const CUdeviceptr to = test.second.plain(0);
    test.second.launch("copy_word", to, from);
    EXPECT_EQ(test.second.wait(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THAT(test.log(), HasSubstr("which only another device may access"));
    EXPECT_EQ(test.first.value(from), 5u);
    test.forget_log();
    std::exit(HasFailure() ? 1 : 0);
  }

  using OnTwoDevices::first;
  using OnTwoDevices::second;

 protected:
  /// What a kernel of this device reads there.
  static std::uint32_t read(const OnDevice& device, CUdeviceptr from) {
    const CUdeviceptr to = device.plain(0);
    device.launch("copy_word", to, from);
    const std::uint32_t found = device.value(to);
    CHECK(cu(cuMemFree)(to));
    return found;
  }

 private:
  void TestBody() override {}
};

class MissingAccess : public testing::Test {};

TEST_F(MissingAccess, IsAFaultOfTheKernelsDevice) {
  EXPECT_EXIT(PeerAccess::expect_fault([](PeerAccess& test) { return test.first.plain(5); }),
              testing::ExitedWithCode(0), "");
}

TEST_F(MissingAccess, IsAFaultAlsoWhereItIsTheOtherDeviceThatHasIt) {
  EXPECT_EXIT(PeerAccess::expect_fault([](PeerAccess& test) {
                CHECK(test.first.enable(test.second));
                return test.first.plain(5);
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(MissingAccess, IsAFaultOnceItIsDisabled) {
  EXPECT_EXIT(PeerAccess::expect_fault([](PeerAccess& test) {
                CHECK(test.second.enable(test.first));
                const CUdeviceptr made = test.first.plain(5);
                CHECK(test.second.disable(test.first));
                return made;
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(MissingAccess, IsAFaultWithAPoolWhateverPeerAccessThereIs) {
  EXPECT_EXIT(PeerAccess::expect_fault([](PeerAccess& test) {
                CHECK(test.second.enable(test.first));
                return test.first.pooled(5);
              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(PeerAccess, IsPossibleBetweenTwoDevices) {
  int can = -1;
  CHECK(cu(cuDeviceCanAccessPeer)(&can, 0, 1));
  EXPECT_EQ(can, 1);
  CHECK(cu(cuDeviceCanAccessPeer)(&can, 1, 1));
  EXPECT_EQ(can, 0);
}

TEST_F(PeerAccess, IsEnabledAndDisabledOnce) {
  EXPECT_EQ(second.disable(first), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  CHECK(second.enable(first));
  EXPECT_EQ(second.enable(first), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  CHECK(second.disable(first));
  EXPECT_EQ(second.enable(second), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_THAT(log(), HasSubstr("no peer"));
  forget_log();
}

TEST_F(PeerAccess, IsToMemoryOfBeforeAndAfter) {
  const CUdeviceptr before = first.plain(5);
  CHECK(second.enable(first));
  const CUdeviceptr after = first.plain(6);
  EXPECT_EQ(read(second, before), 5u);
  EXPECT_EQ(read(second, after), 6u);
  CUdeviceptr variable = 0;
  CHECK(cu(cuModuleGetGlobal)(&variable, nullptr, first.module, "own"));
  EXPECT_EQ(read(second, variable), 40u);
  CHECK(cu(cuMemsetD8Async)(after, 1, 4, second.stream));
  EXPECT_EQ(second.value(after), 0x01010101u);
  CHECK(second.disable(first));
  EXPECT_EQ(cu(cuMemsetD8Async)(after, 1, 4, second.stream), CUDA_ERROR_INVALID_VALUE);
  forget_log();
  for (const CUdeviceptr each : {before, after}) CHECK(cu(cuMemFree)(each));
}

TEST_F(PeerAccess, LetsKernelsOfTwoDevicesCountTogether) {
  CHECK(second.enable(first));
  const CUdeviceptr counter = first.plain(0);
  first.launch("count", counter, 1000);
  second.launch("count", counter, 2000);
  CHECK(second.wait());
  EXPECT_EQ(first.value(counter), 3000u);
  CHECK(second.disable(first));
  CHECK(cu(cuMemFree)(counter));
}

TEST_F(PeerAccess, LetsKernelsOfTwoDevicesWaitForOneAnother) {
  CHECK(second.enable(first));
  const CUdeviceptr said = first.plain(0);
  const CUdeviceptr answered = first.plain(0);
  first.launch("meet", said, answered);
  second.launch("meet", answered, said);
  CHECK(first.wait());
  CHECK(second.wait());
  CHECK(second.disable(first));
  for (const CUdeviceptr each : {said, answered}) CHECK(cu(cuMemFree)(each));
}

CUmemAccessDesc access_of(int device, CUmemAccess_flags flags) {
  return {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}, .flags = flags};
}

TEST_F(PeerAccess, IsThePoolsOwnForPooledMemory) {
  CUmemoryPool pool = nullptr;
  CHECK(cu(cuDeviceGetDefaultMemPool)(&pool, 0));
  const CUdeviceptr before = first.pooled(5);
  CUmemAccessDesc with = access_of(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CUmemAccess_flags flags{};
  CHECK(cu(cuMemPoolGetAccess)(&flags, pool, &with.location));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  CHECK(cu(cuMemPoolSetAccess)(pool, &with, 1));
  CHECK(cu(cuMemPoolGetAccess)(&flags, pool, &with.location));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  const CUdeviceptr after = first.pooled(6);
  EXPECT_EQ(read(second, before), 5u);
  EXPECT_EQ(read(second, after), 6u);
  const CUmemAccessDesc without = access_of(1, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  CHECK(cu(cuMemPoolSetAccess)(pool, &without, 1));
  EXPECT_EQ(cu(cuMemsetD8Async)(after, 1, 4, second.stream), CUDA_ERROR_INVALID_VALUE);
  forget_log();
  for (const CUdeviceptr each : {before, after}) CHECK(cu(cuMemFreeAsync)(each, first.stream));
  CHECK(first.wait());
}

TEST_F(PeerAccess, IsNamedForVirtualMemory) {
  constexpr std::size_t unit = std::size_t{2} << 20;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1};
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  CHECK(cu(cuMemCreate)(&handle, unit, &properties, 0));
  CHECK(cu(cuMemAddressReserve)(&address, unit, 0, 0, 0));
  CHECK(cu(cuMemMap)(address, unit, 0, handle, 0));
  const CUmemAccessDesc of_second = access_of(1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CHECK(cu(cuMemSetAccess)(address, unit, &of_second, 1));
  second.set(address, 9);
  EXPECT_EQ(cu(cuMemsetD8Async)(address, 1, 4, first.stream), CUDA_ERROR_INVALID_VALUE);
  forget_log();
  const CUmemAccessDesc of_first = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CHECK(cu(cuMemSetAccess)(address, unit, &of_first, 1));
  EXPECT_EQ(read(first, address), 9u);
  EXPECT_EQ(read(second, address), 9u);
  int ordinal = -1;
  CHECK(cu(cuPointerGetAttribute)(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
  EXPECT_EQ(ordinal, 1);
  CHECK(cu(cuMemUnmap)(address, unit));
  CHECK(cu(cuMemAddressFree)(address, unit));
  CHECK(cu(cuMemRelease)(handle));
}

TEST_F(PeerAccess, IsNotNeededToAskWhoseMemoryItIs) {
  const CUdeviceptr there = second.pooled(0);
  void* pinned = nullptr;
  first.make_current();
  CHECK(cu(cuMemHostAlloc)(&pinned, 64, 0));
  int ordinal = -1;
  unsigned type = 0;
  CUcontext context = nullptr;
  std::array which{CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT};
  std::array<void*, 3> to{&ordinal, &type, &context};
  CHECK(cu(cuPointerGetAttributes)(3, which.data(), to.data(), there + 2));
  EXPECT_EQ(ordinal, 1);
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(context, second.context);
  CHECK(cu(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(pinned)));
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_HOST});
  CUdeviceptr on_device = 0;
  CHECK(cu(cuMemHostGetDevicePointer)(&on_device, pinned, 0));
  void* host = nullptr;
  CHECK(cu(cuPointerGetAttribute)(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, on_device + 8));
  EXPECT_EQ(host, static_cast<char*>(pinned) + 8);
  EXPECT_EQ(cu(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 8), CUDA_ERROR_INVALID_VALUE);
  CHECK(cu(cuPointerGetAttributes)(3, which.data(), to.data(), 8));
  EXPECT_EQ(ordinal, CU_DEVICE_INVALID);
  EXPECT_EQ(context, nullptr);
  CHECK(cu(cuMemFreeHost)(pinned));
  CHECK(cu(cuMemFree)(there));
}

}  // namespace
}  // namespace gpushare::stand_in::test
