// SPDX-License-Identifier: Apache-2.0
// Two devices of one process: what each has of its own, and what they do for one another without peer access.
#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <set>

#include "stand_in/on_devices.hpp"

namespace gpushare::stand_in::test {
namespace {

using testing::HasSubstr;

class TwoDevices : public OnTwoDevices {};

TEST_F(TwoDevices, AreToldApart) {
  int count = 0;
  CHECK(cu(cuDeviceGetCount)(&count));
  EXPECT_EQ(count, 2);
  std::set<std::string> names;
  std::set<std::string> uuids;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    std::array<char, 64> name{};
    CHECK(cu(cuDeviceGetName)(name.data(), name.size(), ordinal));
    names.insert(name.data());
    CUuuid uuid;
    CHECK(cu(cuDeviceGetUuid)(&uuid, ordinal));
    uuids.insert(std::string(uuid.bytes, sizeof uuid.bytes));
    CHECK(cu(cuDeviceGetPCIBusId)(name.data(), name.size(), ordinal));
    CUdevice found = -1;
    CHECK(cu(cuDeviceGetByPCIBusId)(&found, name.data()));
    EXPECT_EQ(found, ordinal);
  }
  EXPECT_EQ(names.size(), 2u);
  EXPECT_EQ(uuids.size(), 2u);
}

TEST_F(TwoDevices, AreNotThree) {
  CUdevice device = 0;
  EXPECT_EQ(cu(cuDeviceGet)(&device, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_THAT(log(), HasSubstr("cuDeviceGet"));
  forget_log();
}

TEST_F(TwoDevices, StreamsKnowTheirDevice) {
  first.make_current();
  CUdevice device = 0;
  CHECK(cu(cuCtxGetDevice)(&device));
  EXPECT_EQ(device, 0);
  CUcontext context = nullptr;
  CHECK(cu(cuStreamGetCtx)(second.stream, &context));
  EXPECT_EQ(context, second.context);
  CHECK(cu(cuStreamGetDevice)(second.stream, &device));
  EXPECT_EQ(device, 1);
}

TEST_F(TwoDevices, RunKernelsAtTheSameTime) {
  void* words = nullptr;
  CHECK(cu(cuMemHostAlloc)(&words, 8, 0));
  std::memset(words, 0, 8);
  CUdeviceptr on_devices = 0;
  CHECK(cu(cuMemHostGetDevicePointer)(&on_devices, words, 0));
  first.launch("meet", on_devices, on_devices + 4);
  second.launch("meet", on_devices + 4, on_devices);
  CHECK(first.wait());
  CHECK(second.wait());
  CHECK(cu(cuMemFreeHost)(words));
}

TEST_F(TwoDevices, EachHasItsOwnMemory) {
  constexpr std::size_t more_than_half = std::size_t{600} << 20;
  std::array<CUdeviceptr, 2> taken{};
  for (const OnDevice* each : {&first, &second}) {
    each->make_current();
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK(cu(cuMemAlloc)(&taken[static_cast<std::size_t>(each->number)], more_than_half));
    CHECK(cu(cuMemGetInfo)(&free, &total));
    EXPECT_EQ(free, total - more_than_half);
    CUdeviceptr none = 0;
    EXPECT_EQ(cu(cuMemAlloc)(&none, more_than_half), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cu(cuMemAllocAsync)(&none, more_than_half, each->stream), CUDA_ERROR_OUT_OF_MEMORY);
  }
  for (const CUdeviceptr address : taken) CHECK(cu(cuMemFree)(address));  // whatever context is current
}

TEST_F(TwoDevices, EventsOrderTheirWork) {
  const CUdeviceptr word = first.plain(1);
  const CUdeviceptr copy = second.plain(2);
  constexpr std::size_t bytes = 8 << 20;
  first.make_current();
  CUdeviceptr large = 0;
  CHECK(cu(cuMemAlloc)(&large, bytes));
  void* host = nullptr;
  CHECK(cu(cuMemHostAlloc)(&host, bytes, 0));
  CUevent event = nullptr;
  CHECK(cu(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  // 2 ms of copying before the event: what does not wait for it comes too early.
  CHECK(cu(cuMemcpyDtoHAsync)(host, large, bytes, first.stream));
  CHECK(cu(cuMemsetD8Async)(word, 3, 4, first.stream));
  CHECK(cu(cuEventRecord)(event, first.stream));
  CHECK(cu(cuStreamWaitEvent)(second.stream, event, CU_EVENT_WAIT_DEFAULT));
  CHECK(cu(cuMemcpyDtoDAsync)(copy, word, 4, second.stream));
  EXPECT_EQ(second.value(copy), 0x03030303u);
  EXPECT_EQ(cu(cuEventRecord)(event, second.stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_THAT(log(), HasSubstr("the event is another device's"));
  forget_log();
  CHECK(cu(cuEventDestroy)(event));
  CHECK(cu(cuMemFreeHost)(host));
  for (const CUdeviceptr each : {word, copy, large}) CHECK(cu(cuMemFree)(each));
}

TEST_F(TwoDevices, CopyFromOneAnother) {
  const CUdeviceptr here = first.plain(7);
  const CUdeviceptr there = second.pooled(0);
  CHECK(cu(cuMemcpyPeerAsync)(there, second.context, here, first.context, 4, first.stream));
  CHECK(first.wait());
  EXPECT_EQ(second.value(there), 7u);
  second.set(there, 8);
  CHECK(cu(cuMemcpyDtoDAsync)(here, there, 4, second.stream));
  CHECK(second.wait());
  EXPECT_EQ(first.value(here), 8u);
  EXPECT_EQ(first.value(there), 8u);  // to the host from any device
  CUdeviceptr variable = 0;
  CHECK(cu(cuModuleGetGlobal)(&variable, nullptr, second.module, "own"));
  first.make_current();
  CHECK(cu(cuMemcpyPeer)(here, first.context, variable, second.context, 4));
  EXPECT_EQ(first.value(here), 40u);
  EXPECT_EQ(cu(cuMemcpyPeerAsync)(there, first.context, here, first.context, 4, first.stream),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(log(), HasSubstr("not on the device of its context"));
  forget_log();
  CHECK(cu(cuMemFree)(here));
  CHECK(cu(cuMemFreeAsync)(there, second.stream));
  CHECK(second.wait());
}

TEST_F(TwoDevices, HaveVariablesOfTheirOwn) {
  const CUdeviceptr here = first.plain(0);
  const CUdeviceptr there = second.plain(0);
  first.launch("next", here, 0);
  first.launch("next", here, 0);
  second.launch("next", there, 0);
  EXPECT_EQ(first.value(here), 42u);
  EXPECT_EQ(second.value(there), 41u);
  for (const CUdeviceptr each : {here, there}) CHECK(cu(cuMemFree)(each));
}

TEST_F(TwoDevices, RunKernelsOfOneLibrary) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CHECK(cu(cuLibraryLoadData)(&library, kernels, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cu(cuLibraryGetKernel)(&kernel, library, "next"));
  const CUdeviceptr here = first.plain(0);
  const CUdeviceptr there = second.plain(0);
  first.launch(reinterpret_cast<CUfunction>(kernel), here, 0);
  first.launch(reinterpret_cast<CUfunction>(kernel), here, 0);
  second.launch(reinterpret_cast<CUfunction>(kernel), there, 0);
  EXPECT_EQ(first.value(here), 42u);
  EXPECT_EQ(second.value(there), 41u);
  CUfunction function = nullptr;
  CHECK(cu(cuKernelGetFunction)(&function, kernel));  // of the current context's device, the second
  second.launch(function, there, 0);
  EXPECT_EQ(second.value(there), 42u);
  CHECK(cu(cuLibraryUnload)(library));
  for (const CUdeviceptr each : {here, there}) CHECK(cu(cuMemFree)(each));
}

TEST_F(TwoDevices, HaveGreenContextsOfTheirOwn) {
  CUdevResource all{};
  CUdevResource group{};
  CUdevResource rest{};
  unsigned groups = 1;
  CHECK(cu(cuDeviceGetDevResource)(1, &all, CU_DEV_RESOURCE_TYPE_SM));
  CHECK(cu(cuDevSmResourceSplitByCount)(&group, &groups, &all, &rest, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING,
                                        2));
  CUdevResourceDesc description = nullptr;
  CHECK(cu(cuDevResourceGenerateDesc)(&description, &group, 1));
  CUgreenCtx green = nullptr;
  EXPECT_EQ(cu(cuGreenCtxCreate)(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(log(), HasSubstr("the SMs are another device's"));
  forget_log();
  CHECK(cu(cuGreenCtxCreate)(&green, description, 1, CU_GREEN_CTX_DEFAULT_STREAM));
  CUcontext context = nullptr;
  CHECK(cu(cuCtxFromGreenCtx)(&context, green));
  CHECK(cu(cuCtxPushCurrent)(context));
  CUdevice device = -1;
  CHECK(cu(cuCtxGetDevice)(&device));
  EXPECT_EQ(device, 1);
  CHECK(cu(cuCtxPopCurrent)(&context));
  CHECK(cu(cuGreenCtxDestroy)(green));
}

/// In a process of its own: a device stays failed.
class OneFails : public TwoDevices {
 public:
  static void run() {
    OneFails().TestBody();
    std::exit(HasFailure() ? 1 : 0);
  }

 private:
  void TestBody() override {
    const CUdeviceptr here = first.plain(5);
    const CUdeviceptr copy = first.plain(0);
    CUevent event = nullptr;
    void* words = nullptr;
    CUdeviceptr on_devices = 0;
    second.make_current();
    CHECK(cu(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cu(cuMemHostAlloc)(&words, 8, 0));
    CHECK(cu(cuMemHostGetDevicePointer)(&on_devices, words, 0));
    auto* awaited = static_cast<std::uint32_t*>(words) + 1;
    std::atomic_ref(*awaited).store(0);
    second.launch("meet", on_devices, on_devices + 4);  // so that the fault comes behind all that follows
    second.launch("copy_word", 8, 8);
    CHECK(cu(cuEventRecord)(event, second.stream));
    CHECK(cu(cuStreamWaitEvent)(first.stream, event, CU_EVENT_WAIT_DEFAULT));  // for ever, if the fault did not end it
    first.launch("copy_word", copy, here);
    std::atomic_ref(*awaited).store(1);
    EXPECT_EQ(second.wait(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cu(cuEventSynchronize)(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    CUdeviceptr none = 0;
    EXPECT_EQ(cu(cuMemAllocAsync)(&none, 4, second.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(first.wait(), CUDA_SUCCESS);
    EXPECT_EQ(first.value(copy), 5u);
    forget_log();
  }
};

TEST(OneOfTwoDevices, FailsAlone) { EXPECT_EXIT(OneFails::run(), testing::ExitedWithCode(0), ""); }

}  // namespace
}  // namespace gpushare::stand_in::test
