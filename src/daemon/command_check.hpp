// SPDX-License-Identifier: Apache-2.0
// From a record that a client wrote to a command that can be carried out. The record is this side's own copy. Two ways
// to fail: a record that no correct client writes (PeerViolation), and one that asks for something impossible
// (InvalidInput, which names it).
#pragma once

#include <span>

#include "daemon/command_sink.hpp"
#include "daemon/wire.hpp"

namespace gpushare::daemon {

/// What a launch may ask for; the server's configuration may narrow it.
struct LaunchLimits {
  std::uint64_t blocks = 1ull << 40;
  std::uint32_t shared_bytes = 1 << 20;  ///< per block; the device knows better
};

/// Checks what all commands have in common.
wire::CommandHeader header_of(std::span<const std::byte> record);

/// The command without client and reply.
LaunchCommand check_launch(std::span<const std::byte> record, const ClientTables& tables, const LaunchLimits& limits);
CopyCommand check_copy(std::span<const std::byte> record, const ClientTables& tables);

}  // namespace gpushare::daemon
