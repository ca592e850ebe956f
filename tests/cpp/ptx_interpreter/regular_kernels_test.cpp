// SPDX-License-Identifier: Apache-2.0
// Compiled kernels of regular structure against the same computation on the host.
#include <cmath>
#include <numeric>

#include "ptx_interpreter/kernels_in_order.hpp"

namespace gpushare::interpreter {
namespace {

using namespace test;

class RegularKernels : public KernelsInOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, RegularKernels, testing::Range(0, 3));

TEST_P(RegularKernels, Saxpy) {
  const int n = 200;
  const auto x = ramp(n), y = ramp(n);
  const auto at_x = memory.allocate(x), at_y = memory.allocate(y);
  launch("saxpy", "saxpy", arguments(2.5f, at_x, at_y, n), {.blocks = {4}, .threads = {64}});
  const auto result = memory.read<float>(at_y, n);
  for (int i = 0; i < n; ++i) EXPECT_EQ(result[i], std::fma(2.5f, x[i], y[i]));
}

TEST_P(RegularKernels, BlockReduction) {
  const int n = 1000, threads = 128, blocks = 8;
  const auto in = integers(n);
  const auto at_in = memory.allocate(in), at_out = memory.allocate(std::vector<int>(blocks));
  launch("reduce", "reduce", arguments(at_in, at_out, n),
         {.blocks = {blocks}, .threads = {threads}, .dynamic_shared_bytes = threads * sizeof(int)});
  const auto sums = memory.read<int>(at_out, blocks);
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0), std::accumulate(in.begin(), in.end(), 0));
}

TEST_P(RegularKernels, Transpose) {
  const int width = 40, height = 23;
  const auto in = ramp(width * height);
  const auto at_in = memory.allocate(in), at_out = memory.allocate(in.size() * sizeof(float));
  launch("transpose", "transpose", arguments(at_in, at_out, width, height), {.blocks = {3, 2}, .threads = {16, 16}});
  const auto out = memory.read<float>(at_out, in.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) ASSERT_EQ(out[x * height + y], in[y * width + x]);
  }
}

TEST_P(RegularKernels, Stencil3d) {
  const int nx = 19, ny = 10, nz = 6;
  const auto in = ramp(nx * ny * nz);
  const auto at_in = memory.allocate(in), at_out = memory.allocate(in.size() * sizeof(float));
  launch("stencil3d", "stencil3d", arguments(at_in, at_out, nx, ny, nz), {.blocks = {3, 3, 3}, .threads = {8, 4, 2}});
  const auto out = memory.read<float>(at_out, in.size());
  const int row = nx, plane = nx * ny, inner = 3 * plane + 4 * row + 5;
  const auto at = [&](int offset) { return in[inner + offset]; };
  const float sum = at(-1) + at(1) + at(-row) + at(row) + at(-plane) + at(plane);
  EXPECT_EQ(out[inner], std::fma(at(0), 0.5f, sum * 0.0625f));
  EXPECT_EQ(out[7], in[7]);
  EXPECT_EQ(out.back(), in.back());
}

TEST_P(RegularKernels, MatrixProduct) {
  const int n = 21;
  const auto a = ramp(n * n), b = ramp(n * n + 1);
  const auto at_a = memory.allocate(a), at_b = memory.allocate(b), at_c = memory.allocate(a.size() * sizeof(float));
  launch("matmul", "matmul", arguments(at_a, at_b, at_c, n), {.blocks = {3, 3}, .threads = {8, 8}});
  const auto c = memory.read<float>(at_c, a.size());
  for (int i = 0; i < n * n; ++i) {
    float sum = 0;
    for (int k = 0; k < n; ++k) sum = std::fma(a[i / n * n + k], b[k * n + i % n], sum);
    ASSERT_EQ(c[i], sum) << i;
  }
}

TEST_P(RegularKernels, BlackScholes) {
  const int n = 150;
  const std::vector<float> price(n, 30), strike(n, 25), years(n, 2);
  const auto at_price = memory.allocate(price), at_strike = memory.allocate(strike), at_years = memory.allocate(years);
  const auto call = memory.allocate(n * sizeof(float)), put = memory.allocate(n * sizeof(float));
  launch("blackscholes", "blackscholes", arguments(at_price, at_strike, at_years, call, put, 0.02f, 0.3f, n),
         {.blocks = {2}, .threads = {32}});
  const double root = std::sqrt(2.0), d1 = (std::log(30.0 / 25) + (0.02 + 0.045) * 2) / (0.3 * root),
               d2 = d1 - 0.3 * root;
  const auto normal = [](double d) { return 0.5 * std::erfc(-d / std::sqrt(2.0)); };
  const double expected = 30 * normal(d1) - 25 * std::exp(-0.04) * normal(d2);
  for (const float each : memory.read<float>(call, n)) ASSERT_NEAR(each, expected, 1e-3);
  for (const float each : memory.read<float>(put, n)) ASSERT_NEAR(each, expected - 30 + 25 * std::exp(-0.04), 1e-3);
}

TEST_P(RegularKernels, Bodies) {
  const int n = 50;
  const auto bodies = ramp(4 * n);
  const auto at_bodies = memory.allocate(bodies), at_out = memory.allocate(bodies.size() * sizeof(float));
  launch("nbody", "nbody", arguments(at_bodies, at_out, n),
         {.blocks = {2}, .threads = {32}, .dynamic_shared_bytes = 32 * 4 * sizeof(float)});
  const auto out = memory.read<float>(at_out, bodies.size());
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int j = 0; j < n; ++j) {
      double square = 0.01;
      for (int k = 0; k < 3; ++k) square += std::pow(bodies[4 * j + k] - bodies[4 * i + k], 2);
      sum += bodies[4 * j + 3] * (bodies[4 * j] - bodies[4 * i]) / std::pow(square, 1.5);
    }
    ASSERT_NEAR(out[4 * i], sum, 1e-3 * (1 + std::fabs(sum))) << i;
  }
}

TEST_P(RegularKernels, Mandelbrot) {
  const int width = 20, height = 12;
  const auto at_out = memory.allocate(width * height);
  launch("mandelbrot", "mandelbrot", arguments(at_out, width, height, 60), {.blocks = {3, 3}, .threads = {8, 4}});
  const auto out = memory.read<std::uint8_t>(at_out, width * height);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[6 * width + 13], 60) << "0 is in the set";
}

TEST_P(RegularKernels, Gaussian) {
  const int n = 20, step = 3;
  const auto m = ramp(n * n), a = ramp(n * n + 3), b = ramp(n);
  const auto at_m = memory.allocate(m), at_a = memory.allocate(a), at_b = memory.allocate(b);
  launch("gaussian", "gaussian_fan2", arguments(at_m, at_a, at_b, n, step), {.blocks = {5, 5}, .threads = {4, 4}});
  const auto result = memory.read<float>(at_a, a.size());
  for (int x = step + 1; x < n; ++x) {
    for (int y = step; y < n; ++y) {
      ASSERT_EQ(result[n * x + y], std::fma(-m[n * x + step], a[n * step + y], a[n * x + y]));
    }
  }
  EXPECT_EQ(memory.read<float>(at_b, n).back(), std::fma(-m[n * (n - 1) + step], b[step], b.back()));
}

}  // namespace
}  // namespace gpushare::interpreter
