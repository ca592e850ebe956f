// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/address_space.hpp"

#include <string>

#include "ptx_interpreter/block.hpp"
#include "ptx_interpreter/fault.hpp"

namespace gpushare::interpreter {
namespace {

std::string_view name_of(Access::Kind kind) {
  switch (kind) {
    case Access::Kind::Load:
      return "loads ";
    case Access::Kind::Store:
      return "stores ";
    case Access::Kind::Atomic:
      return "updates ";
  }
  return "";
}

std::string_view name_of(Space space) {
  switch (space) {
    case Space::Shared:
      return "shared";
    case Space::Local:
      return "local";
    case Space::Parameter:
      return "parameter";
    default:
      return "global";
  }
}

std::byte* inside(std::vector<std::byte>& memory, std::uint64_t address, std::size_t bytes) {
  const bool fits = address <= memory.size() && memory.size() - address >= bytes && address % bytes == 0;
  return fits ? memory.data() + address : nullptr;
}

[[noreturn]] void fail_access(Thread& thread, Space space, std::uint64_t address, std::size_t bytes, Access::Kind kind,
                              std::size_t available) {
  const Launch& launch = thread.block->launch;
  const bool is_of_others = space == Space::Global && launch.memory.is_of_others(address, launch.device);
  std::string what = std::string(name_of(kind)) + std::to_string(bytes) + " bytes of " + std::string(name_of(space)) +
                     " memory, " +
                     (is_of_others ? "which only another device may access, at " : "out of bounds or misaligned, at ");
  what += space == Space::Global ? launch.memory.describe(address)
                                 : std::to_string(address) + " of " + std::to_string(available);
  throw BadAddress(describe(thread, what));
}

std::byte* in_global(Thread& thread, std::uint64_t address, std::size_t bytes, Access::Kind kind) {
  const Launch& launch = thread.block->launch;
  GlobalMemory& memory = launch.memory;
  if (memory.has_hooks()) {
    memory.tell_hooks(
        {.kind = kind, .address = address, .bytes = bytes, .block = thread.block->linear, .thread = thread.index});
  }
  std::byte* found = memory.find(address, bytes, launch.device);
  if (found == nullptr) fail_access(thread, Space::Global, address, bytes, kind, 0);
  return found;
}

}  // namespace

std::uint64_t window_of(Space space) {
  switch (space) {
    case Space::Shared:
      return shared_window;
    case Space::Local:
      return local_window;
    case Space::Parameter:
      return parameter_window;
    default:
      return 0;
  }
}

Space space_of(std::uint64_t generic_address) {
  for (const Space space : {Space::Shared, Space::Local, Space::Parameter}) {
    if (generic_address - window_of(space) < window_bytes) return space;
  }
  return Space::Global;
}

Space space_named(std::string_view suffix) {
  suffix = suffix.substr(0, suffix.find("::"));
  if (suffix == "global") return Space::Global;
  if (suffix == "const") return Space::Constant;
  if (suffix == "shared") return Space::Shared;
  if (suffix == "local") return Space::Local;
  if (suffix == "param") return Space::Parameter;
  return Space::Generic;
}

std::byte* locate(Thread& thread, Space space, std::uint64_t address, std::size_t bytes, Access::Kind kind) {
  if (space == Space::Generic) {
    space = space_of(address);
    address -= window_of(space);
  }
  if (space == Space::Global || space == Space::Constant) return in_global(thread, address, bytes, kind);
  std::vector<std::byte>& memory = space == Space::Shared  ? thread.block->shared
                                   : space == Space::Local ? thread.local
                                                           : thread.block->launch.parameters;
  std::byte* found = inside(memory, address, bytes);
  if (found == nullptr) fail_access(thread, space, address, bytes, kind, memory.size());
  return found;
}

}  // namespace gpushare::interpreter
