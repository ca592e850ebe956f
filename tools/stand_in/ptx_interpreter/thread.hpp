// SPDX-License-Identifier: Apache-2.0
// One thread of a kernel: registers, call stack, local memory, and what it waits for.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "ptx_interpreter/operation.hpp"

namespace gpushare::interpreter {

struct Block;
struct FunctionCode;

enum class Status : std::uint8_t { Runnable, AtBarrier, AtWarpOperation, AtActiveMask, Exited };

struct Frame {
  const FunctionCode* function = nullptr;
  std::uint32_t return_to = 0;
  std::uint32_t call_site = 0;
  std::size_t registers = 0;  ///< where they begin in Thread::stack
  std::size_t local = 0;      ///< where its variables begin in Thread::local
};

struct Thread {
  std::uint64_t* registers = nullptr;
  const Operation* code = nullptr;
  std::uint32_t next = 0;  ///< the instruction to run
  Status status = Status::Runnable;
  bool carry = false;
  bool yields = false;  ///< lets other threads run
  Block* block = nullptr;
  std::uint32_t index = 0;  ///< in its block
  std::uint32_t lane = 0;
  std::array<std::uint32_t, 3> position{};
  std::uint32_t wait_mask = 0;  ///< lanes a warp operation is for
  std::vector<std::uint64_t> stack;
  std::vector<Frame> frames;
  std::vector<std::byte> local;

  /// The instruction at which a waiting thread stands.
  const Operation& current() const { return code[next - 1]; }
  bool exited() const { return status == Status::Exited; }

  template <class T>
  T read(Slot slot) const {
    return from_bits<T>(registers[slot]);
  }
  template <class T>
  void write(Slot slot, T value) {
    registers[slot] = to_bits<T>(value);
  }
};

/// Where a memory operand points; in the space's own numbering.
inline std::uint64_t address_of(const Thread& thread, const Operation& operation) {
  const std::uint64_t base = thread.registers[operation.address];
  return operation.narrow ? static_cast<std::uint32_t>(base + static_cast<std::uint64_t>(operation.offset))
                          : base + static_cast<std::uint64_t>(operation.offset);
}

/// Runs some instructions of a thread, or fewer where it has to wait; returns how many.
std::size_t run_thread(Thread& thread, std::size_t instructions);

/// What happened, with the thread's place in front of it.
std::string describe(const Thread& thread, const std::string& what);
/// Throws Fault that says so.
[[noreturn]] void fail(const Thread& thread, const std::string& what);

/// Enters a function: its registers, constants and local variables on top of the stack.
void push_frame(Thread& thread, const FunctionCode& function, std::uint32_t call_site);
void pop_frame(Thread& thread);

}  // namespace gpushare::interpreter
