// SPDX-License-Identifier: Apache-2.0
#include "daemon/channel/port_memory.hpp"

#include <bit>
#include <cstring>
#include <new>

#include "core/model/errors.hpp"
#include "daemon/channel/wire.hpp"

namespace gpushare::daemon {
namespace {

constexpr std::size_t most_port_bytes = 1 << 26;
constexpr std::size_t first_ring = 64;
static_assert(first_ring >= sizeof(wire::PortHeader) && first_ring % alignof(RingControl) == 0);

RingPlace place_at(const SharedMemory& memory, std::size_t offset, std::size_t bytes) {
  return {.control = reinterpret_cast<RingControl*>(memory.bytes().data() + offset),
          .bytes = memory.bytes().subspan(offset + sizeof(RingControl), bytes)};
}

void require_ring(std::uint64_t offset, std::uint64_t bytes, std::size_t memory_bytes) {
  require(offset % alignof(RingControl) == 0 && std::has_single_bit(bytes) && bytes >= 64 && bytes <= memory_bytes &&
              offset <= memory_bytes && offset + sizeof(RingControl) + bytes <= memory_bytes,
          "a ring of " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
              " does not fit the port's memory of " + std::to_string(memory_bytes) + " bytes");
}

}  // namespace

PortMemory PortMemory::create(std::size_t command_bytes, std::size_t completion_bytes) {
  wire::PortHeader header{.magic = wire::magic, .version = wire::version, .header_bytes = sizeof(wire::PortHeader)};
  header.command_offset = first_ring;
  header.command_bytes = command_bytes;
  header.completion_offset = first_ring + sizeof(RingControl) + command_bytes;
  header.completion_bytes = completion_bytes;
  const std::size_t bytes = header.completion_offset + sizeof(RingControl) + completion_bytes;
  require_ring(header.command_offset, command_bytes, bytes);
  require_ring(header.completion_offset, completion_bytes, bytes);
  SharedMemory memory = SharedMemory::create("gpushare-port", bytes);
  const RingPlace commands = place_at(memory, header.command_offset, command_bytes);
  const RingPlace completions = place_at(memory, header.completion_offset, completion_bytes);
  ::new (commands.control) RingControl;
  ::new (completions.control) RingControl;
  std::memcpy(memory.bytes().data(), &header, sizeof(header));
  return {std::move(memory), commands, completions};
}

PortMemory PortMemory::map(FileDescriptor file) {
  SharedMemory memory = SharedMemory::map(std::move(file), most_port_bytes);
  const std::size_t bytes = memory.bytes().size();
  wire::PortHeader header{};
  require(bytes >= sizeof(header), "a port's memory of " + std::to_string(bytes) + " bytes");
  std::memcpy(&header, memory.bytes().data(), sizeof(header));
  require(header.magic == wire::magic, "this memory is not a port of gpushare");
  require(header.version == wire::version && header.header_bytes == sizeof(header),
          "the worker's ports have version " + std::to_string(header.version) + ", this gpushare speaks version " +
              std::to_string(wire::version));
  require_ring(header.command_offset, header.command_bytes, bytes);
  require_ring(header.completion_offset, header.completion_bytes, bytes);
  const RingPlace commands = place_at(memory, header.command_offset, header.command_bytes);
  const RingPlace completions = place_at(memory, header.completion_offset, header.completion_bytes);
  return {std::move(memory), commands, completions};
}

}  // namespace gpushare::daemon
