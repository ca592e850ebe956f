// SPDX-License-Identifier: Apache-2.0
// Kernels on values in a stream, launched in all the ways there are.
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "intercept/driver_calls.hpp"

namespace intercepted {

using LaunchKernel = decltype(&cuLaunchKernel);

/// A stream, and values that launches in it change.
class Worker {
 public:
  static constexpr unsigned most_values = 256;

  Worker() {
    CHECK(cu(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cu(cuMemAllocAsync)(&values, sizeof(unsigned) * most_values, stream));
    CHECK(cu(cuMemsetD8Async)(values, 0, sizeof(unsigned) * most_values, stream));
  }

  Worker(CUstream of, CUdeviceptr own) : stream(of), values(own) {}

  unsigned value() const {
    unsigned first = 0;
    CHECK(cu(cuMemcpyDtoHAsync)(&first, values, sizeof first, stream));
    CHECK(cu(cuStreamSynchronize)(stream));
    return first;
  }

  CUstream stream = nullptr;
  CUdeviceptr values = 0;
};

/// By cuGetProcAddress, which was itself asked for by that.
inline LaunchKernel looked_up(cuuint64_t flags, int version = 13000) {
  decltype(&cuGetProcAddress) look_up = nullptr;
  CUdriverProcAddressQueryResult status{};
  CHECK(cu(cuGetProcAddress)("cuGetProcAddress", reinterpret_cast<void**>(&look_up), 13000, 0, &status));
  LaunchKernel found = nullptr;
  CHECK(look_up("cuLaunchKernel", reinterpret_cast<void**>(&found), version, flags, &status));
  return found;
}

/// The same code as a module and as a library.
class Kernels {
 public:
  Kernels() {
    CUmodule module = nullptr;
    CHECK(cu(cuModuleLoadData)(&module, code));
    CHECK(cu(cuModuleGetFunction)(&step_, module, "step"));
    CHECK(cu(cuModuleGetFunction)(&other_, module, "other"));
    CHECK(cu(cuModuleGetFunction)(&collective_, module, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"));
    CUlibrary library = nullptr;
    CHECK(cu(cuLibraryLoadData)(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cu(cuLibraryGetKernel)(&kernel_, library, "step"));
    CHECK(cu(cuLibraryEnumerateKernels)(&enumerated_, 1, library));
  }

  CUresult launch(const std::string& how, const Worker& on, unsigned rounds) const {
    const auto found = ways_.find(how);
    if (found == ways_.end()) throw std::runtime_error("no way to launch: " + how);
    Arguments arguments{on.values, rounds};
    return found->second(on.stream, arguments);
  }

  void launch_often(const std::string& how, const Worker& on, int count, unsigned rounds) const {
    for (int turn = 0; turn < count; ++turn) check(launch(how, on, rounds), "the launch");
  }

 private:
  /// As a kernel finds them in a buffer.
  struct Arguments {
    CUdeviceptr values;
    unsigned rounds;
  };
  struct Shape {
    unsigned blocks;
    unsigned threads;
  };
  using Way = std::function<CUresult(CUstream, Arguments&)>;

  static CUresult plain(LaunchKernel launch, CUfunction function, Shape shape, CUstream stream, Arguments& arguments) {
    void* pointers[] = {&arguments.values, &arguments.rounds};
    return launch(function, shape.blocks, 1, 1, shape.threads, 1, 1, 0, stream, pointers, nullptr);
  }
  static CUresult plain(CUfunction function, Shape shape, CUstream stream, Arguments& arguments) {
    return plain(cu(cuLaunchKernel), function, shape, stream, arguments);
  }
  static CUfunction as_function(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

  CUresult extended(CUlaunchAttribute attribute, bool in_a_buffer, CUstream stream, Arguments& arguments) const {
    CUlaunchConfig config{.gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1};
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    std::size_t bytes = sizeof arguments;
    void* buffer[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END};
    void* pointers[] = {&arguments.values, &arguments.rounds};
    return cu(cuLaunchKernelEx)(&config, step_, in_a_buffer ? nullptr : pointers, in_a_buffer ? buffer : nullptr);
  }

  static CUlaunchAttribute nothing() { return {.id = CU_LAUNCH_ATTRIBUTE_IGNORE}; }
  static CUlaunchAttribute clusters() {
    CUlaunchAttribute made{.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    made.value.clusterDim = {2, 1, 1};
    return made;
  }

  const std::map<std::string, Way> ways_ = {
      {"kernel", [this](auto stream, auto& with) { return plain(step_, {1, 1}, stream, with); }},
      {"wide", [this](auto stream, auto& with) { return plain(step_, {4, 32}, stream, with); }},
      {"other", [this](auto stream, auto& with) { return plain(other_, {1, 1}, stream, with); }},
      {"collective", [this](auto stream, auto& with) { return plain(collective_, {1, 1}, stream, with); }},
      {"wrong", [this](auto stream, auto& with) { return plain(step_, {0, 1}, stream, with); }},
      {"library", [this](auto stream, auto& with) { return plain(as_function(kernel_), {1, 1}, stream, with); }},
      {"enumerated", [this](auto stream, auto& with) { return plain(as_function(enumerated_), {1, 1}, stream, with); }},
      {"looked_up", [this](auto stream, auto& with) { return plain(looked_up(0), step_, {1, 1}, stream, with); }},
      {"looked_up_by_later",
       [this](auto stream, auto& with) { return plain(looked_up(0, 99000), step_, {1, 1}, stream, with); }},
      {"per_thread",
       [this](auto, auto& with) {
         const LaunchKernel launch = looked_up(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
         return plain(launch, step_, {1, 1}, nullptr, with);
       }},
      {"ex", [this](auto stream, auto& with) { return extended(nothing(), false, stream, with); }},
      {"buffer", [this](auto stream, auto& with) { return extended(nothing(), true, stream, with); }},
      {"cluster", [this](auto stream, auto& with) { return extended(clusters(), false, stream, with); }},
      {"cooperative",
       [this](auto stream, auto& with) {
         void* pointers[] = {&with.values, &with.rounds};
         return cu(cuLaunchCooperativeKernel)(step_, 3, 1, 1, 1, 1, 1, 0, stream, pointers);
       }},
  };

  CUfunction step_ = nullptr;
  CUfunction other_ = nullptr;
  CUfunction collective_ = nullptr;
  CUkernel kernel_ = nullptr;
  CUkernel enumerated_ = nullptr;  ///< the first of the library: `step`
};

}  // namespace intercepted
