// SPDX-License-Identifier: Apache-2.0
// Adds two vectors on the GPU of a server: start `gpushare serve --device cuda:0` first.
#include <cstdio>
#include <gpushare/client.hpp>
#include <numeric>
#include <vector>

namespace gs = gpushare::client;

constexpr const char* source = R"(
  __global__ void add(const float* a, const float* b, float* sum, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sum[i] = a[i] + b[i];
  })";

int main() {
  try {
    gs::Session session;
    gs::Application alice = session.application("alice");
    gs::Kernel add = session.kernel(source, "add");

    std::vector<float> values(10'000);
    std::iota(values.begin(), values.end(), 0.0F);
    const std::size_t bytes = values.size() * sizeof(float);
    gs::Memory a = session.allocate(bytes);
    gs::Memory b = session.allocate(bytes);
    gs::Memory sum = session.allocate(bytes);
    a.write(values.data(), bytes);
    b.write(values.data(), bytes);

    const auto blocks = static_cast<unsigned>((values.size() + 255) / 256);
    gs::Job job = alice.launch(add, {.grid = blocks, .block = 256}, {a, b, sum, values.size()});
    job.wait();

    sum.read(values.data(), bytes);
    std::printf("on %s: 9999 + 9999 = %g\n", session.device().c_str(), values.back());
    return values.back() == 19'998.0F ? 0 : 1;
  } catch (const gs::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
