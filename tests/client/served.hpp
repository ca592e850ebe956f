// SPDX-License-Identifier: Apache-2.0
// What the tests share: a session with the server of GPUSHARE_SOCKET, and kernels whose results are known.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <gpushare/client.hpp>
#include <vector>

namespace gs = gpushare::client;

inline constexpr const char* served_source = R"(
  __global__ void add(const float* a, const float* b, float* sum, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sum[i] = a[i] + b[i];
  }
  __global__ void append(unsigned int* value, unsigned int number) { *value = *value * 31 + number; }
  __global__ void increment(unsigned int* value) { atomicAdd(value, 1u); }
  struct Pair { int first; double second; };
  __global__ void types(double* out, char small, unsigned short middle, bool flag, long long large, float single,
                        double twice, Pair pair, const int* nothing) {
    double found[] = {double(small), double(middle), double(flag), double(large), single, twice, double(pair.first),
                      pair.second, double(nothing == nullptr)};
    for (int i = 0; i < 9; ++i) out[i] = found[i];
  }
  __global__ void places(unsigned int* out) {
    extern __shared__ unsigned int shared[];
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int threads = blockDim.x * blockDim.y * blockDim.z;
    shared[thread] = 1000 * block + thread;
    __syncthreads();
    out[block * threads + thread] = shared[threads - 1 - thread];
  }
)";

/// As in the source.
struct Pair {
  int first;
  double second;
};

class Served : public ::testing::Test {
 protected:
  gs::Kernel kernel(const char* name) { return session.kernel(served_source, name); }

  template <typename T>
  gs::Memory uploaded(const std::vector<T>& values) {
    gs::Memory memory = session.allocate(values.size() * sizeof(T));
    memory.write(values.data(), values.size() * sizeof(T));
    return memory;
  }

  template <typename T>
  static std::vector<T> downloaded(const gs::Memory& memory) {
    std::vector<T> values(memory.size() / sizeof(T));
    memory.read(values.data(), values.size() * sizeof(T));
    return values;
  }

  gs::Session session;
};

/// The message of the error that the call throws; it has to name these.
template <typename Error, typename Call>
void expect_error_naming(std::initializer_list<const char*> named, Call call) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const char* each : named) EXPECT_NE(message.find(each), std::string::npos) << each << " in: " << message;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
  }
}
