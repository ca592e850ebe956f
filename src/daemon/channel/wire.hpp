// SPDX-License-Identifier: Apache-2.0
// The layouts in shared memory between a client and the worker: fixed structs, little-endian, the same for every
// compiler. Any change is a new `version`.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace gpushare::daemon::wire {

static_assert(std::endian::native == std::endian::little, "the structs would have to be converted");

constexpr std::array<char, 8> magic{'g', 'p', 'u', 's', 'h', 'a', 'r', 'e'};
constexpr std::uint32_t version = 3;

/// At the start of a port's memory. Written by the worker, which never reads it again.
struct PortHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t command_offset;  ///< of a RingControl, which the ring's bytes follow
  std::uint64_t command_bytes;
  std::uint64_t completion_offset;
  std::uint64_t completion_bytes;
};
static_assert(sizeof(PortHeader) == 48);

enum class CommandKind : std::uint16_t { Launch = 1, CopyIn = 2, CopyOut = 3, Fence = 4 };

struct CommandHeader {
  CommandKind kind;
  std::uint16_t flags;  ///< none so far: 0
  std::uint32_t bytes;  ///< of the whole command
  std::uint64_t job;    ///< 1, 2, 3, ... of this port
};
static_assert(sizeof(CommandHeader) == 16);

/// Followed by `references` ArrayReferences and then by `argument_bytes` bytes of arguments.
struct Launch {
  CommandHeader header;
  std::uint64_t application;
  std::uint64_t kernel;
  std::array<std::uint32_t, 3> grid;
  std::uint32_t argument_bytes;
  std::uint32_t references;
  std::uint32_t zero;
};
static_assert(sizeof(Launch) == 56);

/// The 8 bytes of arguments at `position` become the address of `array` plus `offset`.
struct ArrayReference {
  std::uint64_t array;
  std::uint64_t offset;
  std::uint32_t position;
  std::uint32_t zero;
};
static_assert(sizeof(ArrayReference) == 24);

struct Copy {
  CommandHeader header;
  std::uint64_t application;
  std::uint64_t array;
  std::uint64_t array_offset;
  std::uint64_t arena;
  std::uint64_t arena_offset;
  std::uint64_t bytes;
};
static_assert(sizeof(Copy) == 64);

/// Ends when all earlier commands of this client have ended.
struct Fence {
  CommandHeader header;
};
static_assert(sizeof(Fence) == 16);

/// Followed by `message_bytes` bytes of text. Times are those of CLOCK_MONOTONIC, in nanoseconds.
struct Completion {
  std::uint64_t job;
  std::uint16_t status;
  std::uint16_t message_bytes;
  std::uint32_t zero;
  std::int64_t accepted;  ///< the worker has taken the command
  std::int64_t started;
  std::int64_t ended;
};
static_assert(sizeof(Completion) == 40);

constexpr std::size_t most_message_bytes = 1000;
constexpr std::size_t most_argument_bytes = 32'764;  ///< of a kernel, in CUDA
constexpr std::size_t most_references = most_argument_bytes / 8;
constexpr std::size_t most_command_bytes =
    sizeof(Launch) + most_references * sizeof(ArrayReference) + most_argument_bytes;
constexpr std::size_t most_completion_bytes = sizeof(Completion) + most_message_bytes;

}  // namespace gpushare::daemon::wire
