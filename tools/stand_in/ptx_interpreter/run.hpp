// SPDX-License-Identifier: Apache-2.0
// Runs a kernel: blocks at the same time, their threads in whatever order the scheduler gives.
//
//   ptx::Module module(text);
//   Program program(module);
//   GlobalMemory memory;
//   const auto x = memory.allocate(std::vector<float>{1, 2, 3});
//   Scheduler scheduler(seed);
//   run(program, "scale", arguments(x, 2.0f, 3), {.blocks = {1}, .threads = {32}}, memory, scheduler);
//   memory.read<float>(x, 3);
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "ptx_interpreter/block.hpp"
#include "ptx_interpreter/fault.hpp"
#include "ptx_interpreter/global_memory.hpp"
#include "ptx_interpreter/program.hpp"
#include "ptx_interpreter/scheduler.hpp"

namespace gpushare::interpreter {

using Argument = std::vector<std::byte>;

template <class... Values>
std::vector<Argument> arguments(const Values&... values) {
  std::vector<Argument> list;
  const auto add = [&list](const auto& value) {
    Argument bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    list.push_back(std::move(bytes));
  };
  (add(values), ...);
  return list;
}

struct Machine {
  std::uint32_t sms = 4;
  std::uint32_t blocks_per_sm = 2;
  std::uint64_t most_instructions = 1'000'000'000;  ///< then Endless is thrown
  /// Faults where a warp meets an aligned barrier without all its live threads.
  bool strict_barriers = true;
};

struct Finished {
  std::uint64_t instructions = 0;
  std::size_t blocks = 0;
};

/// Throws Fault (Deadlock, Endless), and InvalidInput where arguments do not fit. Blocks start in order of their index.
Finished run(const Program& program, std::string_view kernel, const std::vector<Argument>& arguments, const Grid& grid,
             GlobalMemory& memory, Scheduler& scheduler, const Machine& machine = {});

}  // namespace gpushare::interpreter
