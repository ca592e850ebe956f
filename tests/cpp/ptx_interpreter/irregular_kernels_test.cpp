// SPDX-License-Identifier: Apache-2.0
// Compiled kernels with atomics, early returns, calls, jumps and waiting for other blocks.
#include <algorithm>
#include <bit>
#include <numeric>

#include "ptx_interpreter/kernels_in_order.hpp"

namespace gpushare::interpreter {
namespace {

using namespace test;

class IrregularKernels : public KernelsInOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, IrregularKernels, testing::Range(0, 6));

TEST_P(IrregularKernels, Histogram) {
  const int n = 3000;
  std::vector<std::uint8_t> data(n);
  std::vector<unsigned> expected(64);
  for (int i = 0; i < n; ++i) ++expected[(data[i] = static_cast<std::uint8_t>(i * i % 251)) & 63];
  const auto at_data = memory.allocate(data), at_bins = memory.allocate(std::vector<unsigned>(64));
  launch("histogram", "histogram", arguments(at_data, at_bins, n), {.blocks = {10}, .threads = {40}});
  EXPECT_EQ(memory.read<unsigned>(at_bins, 64), expected);
}

// Spins on what other blocks write.
TEST_P(IrregularKernels, ScanWithDecoupledLookBack) {
  const int n = 700, threads = 64, blocks = 11;
  const auto in = integers(n);
  const auto at_in = memory.allocate(in), at_out = memory.allocate(n * sizeof(int)), ticket = memory.allocate(4);
  const auto state = memory.allocate(blocks * 8);
  launch("lookback", "lookback", arguments(at_in, at_out, ticket, state, n),
         {.blocks = {blocks}, .threads = {threads}});
  std::vector<int> expected(n);
  std::partial_sum(in.begin(), in.end(), expected.begin());
  EXPECT_EQ(memory.read<int>(at_out, n), expected);
}

/// The kernel's text, by hand, on one block's input.
std::vector<int> early_return(const std::vector<int>& in, int threads) {
  const int n = static_cast<int>(in.size());
  std::vector<int> out(n);
  for (int begin = 0; begin < n; begin += threads) {
    std::vector<int> slot(threads);
    const int here = std::min(threads, n - begin);
    std::copy_n(in.begin() + begin, here, slot.begin());
    const std::vector<int> first = slot;
    for (int t = 0; t < here; ++t) out[begin + t] = slot[t] = first[t] + first[(t + 1) % threads];
    for (int t = 0; t < here; ++t) slot[t] *= (in[begin + t] & 1) == 0 ? -1 : 1;
    for (int t = 0; t < here; ++t) {
      if ((in[begin + t] & 1) != 0) continue;
      out[begin + t] += slot[(t + 7) % threads];
      if ((in[begin + t] & 2) == 0) out[begin + t] += slot[(t + threads - 1) % threads];
    }
  }
  return out;
}

TEST_P(IrregularKernels, EarlyReturnsBetweenBarriers) {
  const int n = 300, threads = 128;
  const auto in = integers(n);
  const auto at_in = memory.allocate(in), at_out = memory.allocate(n * sizeof(int));
  launch("early_return", "early_return", arguments(at_in, at_out, n), {.blocks = {3}, .threads = {threads}});
  EXPECT_EQ(memory.read<int>(at_out, n), early_return(in, threads));
}

TEST_P(IrregularKernels, FunctionsThatAreNotInlined) {
  const int n = 100;
  const auto in = integers(n);
  const auto at_in = memory.allocate(in), at_out = memory.allocate(n * sizeof(int));
  launch("device_function", "device_function", arguments(at_in, at_out, n), {.blocks = {4}, .threads = {32}});
  const auto out = memory.read<int>(at_out, n);
  for (int i = 0; i < n; ++i) {
    const int low = (in[i] & 255) + i, high = (in[i] >> 8 & 255) + i / 32 + 4;
    const int chosen = (in[i] & 1) != 0 ? low * low : 2 * low;
    ASSERT_EQ(out[i], chosen + 1000 * high + (in[i] >> (8 * (in[i] & 3)) & 255)) << i;
  }
}

TEST_P(IrregularKernels, NoParameters) {
  const Kernel kernel(ptx_file("no_parameters"));
  run(kernel.program, "no_parameters", {}, {.blocks = {4}, .threads = {64}}, memory, *scheduler);
  const auto output = memory.read<int>(memory.variable(kernel.program, "output"), 256);
  EXPECT_EQ(std::vector<int>(output.begin(), output.begin() + 8),
            (std::vector<int>{3 + 4, 10 + 4, 400 + 4, 1000 + 4, 5 + 4, 90 + 4, 200 + 4, 6000 + 4}));
  EXPECT_EQ(output.back(), 4);
  EXPECT_EQ(memory.read<unsigned>(memory.variable(kernel.program, "finished")), 256u);
}

TEST_P(IrregularKernels, Switch) {
  const int n = 256;
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) in[i] = i % 12;
  const auto at_in = memory.allocate(in), at_out = memory.allocate(n * sizeof(int));
  launch("switch", "switch_cases", arguments(at_in, at_out, n), {.blocks = {4}, .threads = {64}});
  const auto out = memory.read<int>(at_out, n);
  for (int i = 0; i < n; i += 12) {
    const auto bits = static_cast<unsigned>(i);
    EXPECT_EQ(out[i], i * 3);
    if (i + 8 >= n) continue;
    EXPECT_EQ(out[i + 2], std::popcount(bits + 2));
    EXPECT_EQ(out[i + 3], std::countl_zero(bits + 3));
    EXPECT_EQ(out[i + 5], (i + 5) % 7);
    EXPECT_EQ(out[i + 8], std::min(i + 8, 17));
  }
}

TEST_P(IrregularKernels, ShufflesAndBallots) {
  const int n = 500;
  const auto in = integers(n);
  const auto at_in = memory.allocate(in), sum = memory.allocate(std::vector<int>{0}),
             odd = memory.allocate(std::vector{0u});
  launch("shuffle_reduce", "shuffle_reduce", arguments(at_in, sum, odd, n), {.blocks = {4}, .threads = {128}});
  EXPECT_EQ(memory.read<int>(sum), std::accumulate(in.begin(), in.end(), 0));
  EXPECT_EQ(memory.read<unsigned>(odd), std::ranges::count_if(in, [](int each) { return (each & 1) != 0; }));
}

}  // namespace
}  // namespace gpushare::interpreter
