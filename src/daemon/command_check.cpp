// SPDX-License-Identifier: Apache-2.0
#include "daemon/command_check.hpp"

#include <algorithm>
#include <cstring>

#include "core/model/errors.hpp"
#include "daemon/channel/peer_errors.hpp"

namespace gpushare::daemon {
namespace {

constexpr std::array<std::uint32_t, 3> largest_grid{0x7fff'ffff, 65'535, 65'535};  // CUDA's

template <typename T>
T read(std::span<const std::byte> record, std::size_t offset = 0) {
  require_peer(offset <= record.size() && record.size() - offset >= sizeof(T), "a command is too short");
  T value{};
  std::memcpy(&value, record.data() + offset, sizeof(T));
  return value;
}

std::string text_of(const std::array<std::uint32_t, 3>& extent) {
  return std::to_string(extent[0]) + " x " + std::to_string(extent[1]) + " x " + std::to_string(extent[2]);
}

void require_grid(const std::array<std::uint32_t, 3>& grid, std::uint64_t most_blocks) {
  std::uint64_t blocks = 1;  // no overflow: 2^31 * 2^16 * 2^16
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    require_lazily(grid[axis] >= 1 && grid[axis] <= largest_grid[axis], [&] {
      return "a grid of " + text_of(grid) + ": at most " + text_of(largest_grid) + ", and nowhere 0";
    });
    blocks *= grid[axis];
  }
  require_lazily(blocks <= most_blocks, [&] {
    return "a grid of " + text_of(grid) + ": at most " + std::to_string(most_blocks) + " blocks in all";
  });
}

void require_inside(const char* what, std::uint64_t offset, std::uint64_t bytes, std::uint64_t size) {
  require_lazily(offset <= size && bytes <= size - offset, [&] {
    return std::string("bytes ") + std::to_string(offset) + " to " + std::to_string(offset) + " + " +
           std::to_string(bytes) + " of an " + what + " of " + std::to_string(size) + " bytes";
  });
}

/// Clients know no addresses. A number in place of a pointer would be a guess.
void require_no_addresses(const KernelEntry& kernel, std::span<const std::byte> arguments) {
  for (const std::uint32_t position : kernel.pointers) {
    const auto place = arguments.subspan(position, 8);
    require_lazily(std::ranges::all_of(place, [](std::byte each) { return each == std::byte{}; }), [&] {
      return "kernel '" + kernel.name + "': the pointer at byte " + std::to_string(position) +
             " of the arguments is no array";
    });
  }
}

/// Replaces the arguments that stand for arrays with their addresses.
void resolve_arrays(std::span<const std::byte> references, const ClientTables& tables, LaunchCommand& command) {
  for (std::size_t at = 0; at < references.size(); at += sizeof(wire::ArrayReference)) {
    const auto reference = read<wire::ArrayReference>(references, at);
    require_lazily(reference.position % 8 == 0 && command.arguments.size() >= 8 &&
                       reference.position <= command.arguments.size() - 8,
                   [&] {
                     return "an array at byte " + std::to_string(reference.position) + " of " +
                            std::to_string(command.arguments.size()) + " bytes of arguments";
                   });
    auto array = tables.arrays.find(reference.array);
    require_inside("array", reference.offset, 0, array->bytes);
    const std::uint64_t address = array->address + reference.offset;
    std::memcpy(command.arguments.data() + reference.position, &address, sizeof(address));
    command.arrays.push_back(std::move(array));
  }
}

}  // namespace

wire::CommandHeader header_of(std::span<const std::byte> record) {
  const auto header = read<wire::CommandHeader>(record);
  require_peer(header.bytes == record.size(), "a command's size is not that of its record");
  require_peer(header.flags == 0, "a command has flags that this version does not know");
  return header;
}

LaunchCommand check_launch(std::span<const std::byte> record, const ClientTables& tables, std::uint64_t most_blocks) {
  const auto launch = read<wire::Launch>(record);
  require_peer(launch.references <= wire::most_references && launch.argument_bytes <= wire::most_argument_bytes,
               "a launch has more arguments than the protocol allows");
  const std::size_t reference_bytes = launch.references * sizeof(wire::ArrayReference);
  require_peer(record.size() == sizeof(launch) + reference_bytes + launch.argument_bytes,
               "a launch's size does not agree with its arguments");
  LaunchCommand command{.application = tables.applications.find(launch.application),
                        .kernel = tables.kernels.find(launch.kernel),
                        .grid = launch.grid};
  const KernelEntry& kernel = *command.kernel;
  require_grid(launch.grid, most_blocks);
  require_lazily(launch.argument_bytes == kernel.argument_bytes.value_or(launch.argument_bytes), [&] {
    return "kernel '" + kernel.name + "' takes " + std::to_string(*kernel.argument_bytes) +
           " bytes of arguments, not " + std::to_string(launch.argument_bytes);
  });
  const auto arguments = record.subspan(sizeof(launch) + reference_bytes);
  command.arguments.assign(arguments.begin(), arguments.end());
  require_no_addresses(kernel, command.arguments);
  resolve_arrays(record.subspan(sizeof(launch), reference_bytes), tables, command);
  return command;
}

CopyCommand check_copy(std::span<const std::byte> record, const ClientTables& tables) {
  const auto copy = read<wire::Copy>(record);
  require_peer(record.size() == sizeof(copy), "a copy's size is wrong");
  CopyCommand command{
      .application = tables.applications.find(copy.application),
      .direction = copy.header.kind == wire::CommandKind::CopyIn ? CopyDirection::In : CopyDirection::Out,
      .array = tables.arrays.find(copy.array),
      .array_offset = copy.array_offset,
      .arena = tables.arenas.find(copy.arena),
      .arena_offset = copy.arena_offset,
      .bytes = copy.bytes};
  require_inside("array", copy.array_offset, copy.bytes, command.array->bytes);
  require_inside("arena", copy.arena_offset, copy.bytes, command.arena->memory.bytes().size());
  return command;
}

}  // namespace gpushare::daemon
