// SPDX-License-Identifier: Apache-2.0
// The kernels of tests/data/ptx with small inputs, ready to be launched.
#pragma once

#include <array>

#include "ptx_interpreter/kernels_in_order.hpp"
#include "ptx_run/worker_run.hpp"

namespace gpushare::interpreter::test {

struct SampleLaunch : KernelLaunch {
  SampleLaunch(std::string file_name, std::string kernel_name, Grid size,
               std::function<std::vector<Argument>(GlobalMemory&)> arguments_in)
      : KernelLaunch{std::move(kernel_name), size, std::move(arguments_in)}, file(std::move(file_name)) {}

  std::string file;  ///< of tests/data/ptx
};

/// Ordered so that the parameter of a test names its kernel. Every result is independent of the order of the blocks.
inline std::vector<SampleLaunch> sample_launches() {
  const auto floats = [](GlobalMemory& memory, std::size_t count) {
    return memory.allocate(std::vector<float>(count));
  };
  return {
      {"saxpy",
       "saxpy",
       {.blocks = {9}, .threads = {32}},
       [](GlobalMemory& memory) {
         return arguments(2.5f, memory.allocate(ramp(280)), memory.allocate(ramp(280)), 280);
       }},
      {"reduce",
       "reduce",
       {.blocks = {8}, .threads = {64}, .dynamic_shared_bytes = 64 * sizeof(int)},
       [](GlobalMemory& memory) {
         return arguments(memory.allocate(integers(500)), memory.allocate(std::vector<int>(8)), 500);
       }},
      {"transpose",
       "transpose",
       {.blocks = {3, 2}, .threads = {16, 16}},
       [](GlobalMemory& memory) {
         return arguments(memory.allocate(ramp(40 * 23)), memory.allocate(std::vector<float>(40 * 23)), 40, 23);
       }},
      {"stencil3d",
       "stencil3d",
       {.blocks = {5, 3, 2}, .threads = {8, 4, 2}},
       [](GlobalMemory& memory) {
         return arguments(memory.allocate(ramp(35 * 10 * 4)), memory.allocate(std::vector<float>(35 * 10 * 4)), 35, 10,
                          4);
       }},
      {"matmul",
       "matmul",
       {.blocks = {3, 3}, .threads = {8, 8}},
       [floats](GlobalMemory& memory) {
         return arguments(memory.allocate(ramp(441)), memory.allocate(ramp(442)), floats(memory, 441), 21);
       }},
      {"mandelbrot",
       "mandelbrot",
       {.blocks = {3, 3}, .threads = {8, 4}},
       [](GlobalMemory& memory) { return arguments(memory.allocate(std::vector<std::uint8_t>(240)), 20, 12, 60); }},
      {"gaussian",
       "gaussian_fan2",
       {.blocks = {5, 5}, .threads = {4, 4}},
       [](GlobalMemory& memory) {
         return arguments(memory.allocate(ramp(400)), memory.allocate(ramp(403)), memory.allocate(ramp(20)), 20, 3);
       }},
      {"histogram",
       "histogram",
       {.blocks = {6}, .threads = {40}},
       [](GlobalMemory& memory) {
         return arguments(memory.allocate(std::vector<std::uint8_t>(900, 7)),
                          memory.allocate(std::vector<unsigned>(64)), 900);
       }},
      {"lookback",
       "lookback",
       {.blocks = {7}, .threads = {64}},
       [](GlobalMemory& memory) {
         return arguments(memory.allocate(integers(440)), memory.allocate(std::vector<int>(440)),
                          memory.allocate(std::vector<int>(1)), memory.allocate(std::vector<std::uint64_t>(7)), 440);
       }},
      {"early_return",
       "early_return",
       {.blocks = {5}, .threads = {64}},
       [](GlobalMemory& memory) {
         return arguments(memory.allocate(integers(290)), memory.allocate(std::vector<int>(290)), 290);
       }},
      {"device_function",
       "device_function",
       {.blocks = {6}, .threads = {32}},
       [](GlobalMemory& memory) {
         return arguments(memory.allocate(integers(180)), memory.allocate(std::vector<int>(180)), 180);
       }},
      {"no_parameters",
       "no_parameters",
       {.blocks = {4}, .threads = {64}},
       [](GlobalMemory&) { return std::vector<Argument>{}; }},
      {"switch",
       "switch_cases",
       {.blocks = {4}, .threads = {64}},
       [](GlobalMemory& memory) {
         std::vector<int> in(256);
         for (int i = 0; i < 256; ++i) in[static_cast<std::size_t>(i)] = i % 12;
         return arguments(memory.allocate(in), memory.allocate(std::vector<int>(256)), 256);
       }},
      {"shuffle_reduce",
       "shuffle_reduce",
       {.blocks = {4}, .threads = {64}},
       [](GlobalMemory& memory) {
         return arguments(memory.allocate(integers(250)), memory.allocate(std::vector<int>(1)),
                          memory.allocate(std::vector<unsigned>(1)), 250);
       }},
      {"row_maxima",
       "row_maxima",
       {.blocks = {4}, .threads = {64}},
       [](GlobalMemory& memory) {
         return arguments(memory.allocate(integers(250)), memory.allocate(std::vector<int>(250)), 250);
       }},
      {"vector_loads",
       "vector_loads",
       {.blocks = {5}, .threads = {64}},
       [floats](GlobalMemory& memory) { return arguments(memory.allocate(ramp(1200)), floats(memory, 5 * 64), 1200); }},
      {"vector_block_index",
       "vector_block_index",
       {.blocks = {3, 2, 2}, .threads = {4}},
       [](GlobalMemory& memory) { return arguments(memory.allocate(std::vector<unsigned>(4 * 12 * 4))); }},
      {"triton_style",
       "row_sum",
       {.blocks = {7}, .threads = {64}, .dynamic_shared_bytes = 16},
       [floats](GlobalMemory& memory) { return arguments(memory.allocate(ramp(7 * 200)), floats(memory, 7), 200); }},
      {"numba_style",
       "_ZN6cudapy8examples7inverseB2v1E5ArrayIiLi1E1C7mutable7alignedE",
       {.blocks = {6}, .threads = {32}},
       [](GlobalMemory& memory) {
         std::vector<int> values = integers(180);
         for (int& value : values) value += value == 0 ? 1 : 0;
         values[100] = 0;  // which one would be kept of several errors depends on the order
         const auto array = memory.allocate(values);
         return arguments(std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{180}, std::uint64_t{4}, array,
                          std::uint64_t{180}, std::uint64_t{4});
       }},
      {"cupy_style",
       "cupy_multiply__int_int_int",
       {.blocks = {5}, .threads = {32}},
       [](GlobalMemory& memory) {
         constexpr std::uint64_t count = 370;
         const auto array = [&](const std::vector<int>& values) {
           return std::array<std::uint64_t, 3>{memory.allocate(values), count, 4};
         };
         return arguments(array(integers(count)), array(integers(count)), array(std::vector<int>(count)),
                          std::array<std::uint64_t, 2>{count, 0});
       }},
  };
}

}  // namespace gpushare::interpreter::test
