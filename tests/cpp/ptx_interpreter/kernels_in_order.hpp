// SPDX-License-Identifier: Apache-2.0
// The fixture of tests that run a compiled kernel in several orders and compare with the host.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "ptx_interpreter/sample_kernels.hpp"

namespace gpushare::interpreter::test {

/// Fair and unfair orders, one after the other.
inline std::unique_ptr<Scheduler> order(int number) {
  const auto seed = static_cast<std::uint64_t>(number);
  if (number % 3 == 1) return std::make_unique<Unfair>(seed);
  if (number % 3 == 2) return std::make_unique<RunToTheEnd>(seed);
  return std::make_unique<Scheduler>(seed);
}

class KernelsInOrder : public testing::TestWithParam<int> {
 protected:
  void launch(const std::string& file, const std::string& name, const std::vector<Argument>& values, const Grid& grid) {
    const Kernel kernel(ptx_file(file));
    run(kernel.program, name, values, grid, memory, *scheduler, {.most_instructions = 50'000'000});
  }

  std::unique_ptr<Scheduler> scheduler = order(GetParam());
  GlobalMemory memory;
};

inline std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 0.25f * static_cast<float>(i * 7 % 101) - 3;
  return values;
}

inline std::vector<int> integers(std::size_t count) {
  std::vector<int> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<int>((i * 2654435761u >> 12) & 0xffff);
  return values;
}

}  // namespace gpushare::interpreter::test
