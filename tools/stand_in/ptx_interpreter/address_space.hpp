// SPDX-License-Identifier: Apache-2.0
// From an address in a PTX state space to bytes of this process.
#pragma once

#include <cstddef>

#include "ptx_interpreter/global_memory.hpp"
#include "ptx_interpreter/thread.hpp"

namespace gpushare::interpreter {

/// Where generic addresses show the other spaces. Global and constant addresses are generic addresses already.
constexpr std::uint64_t shared_window = 0x1'0000'0000'0000;
constexpr std::uint64_t local_window = 0x2'0000'0000'0000;
constexpr std::uint64_t parameter_window = 0x3'0000'0000'0000;
constexpr std::uint64_t window_bytes = 0x1'0000'0000;

/// The start of a space's window; 0 for global and constant memory.
std::uint64_t window_of(Space space);
/// Which space a generic address lies in.
Space space_of(std::uint64_t generic_address);
/// The space among the suffixes of an opcode; Generic where there is none.
Space space_named(std::string_view suffix);

/// The bytes at an address; throws Fault where they are out of bounds or misaligned. Tells the memory's hooks first.
std::byte* locate(Thread& thread, Space space, std::uint64_t address, std::size_t bytes, Access::Kind kind);

}  // namespace gpushare::interpreter
