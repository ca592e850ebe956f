// SPDX-License-Identifier: Apache-2.0
// Converts a record that a client wrote to a command that can be executed. The record is this side's copy. Two ways to
// fail: a record that no correct client writes (PeerViolation), and a request for something impossible (InvalidInput,
// which names it).
#pragma once

#include <span>

#include "daemon/channel/wire.hpp"
#include "daemon/command_sink.hpp"

namespace gpushare::daemon {

/// Checks the common part of all commands.
wire::CommandHeader header_of(std::span<const std::byte> record);

/// The command without client and reply.
/// At most `most_blocks` in the grid.
LaunchCommand check_launch(std::span<const std::byte> record, const ClientTables& tables, std::uint64_t most_blocks);
CopyCommand check_copy(std::span<const std::byte> record, const ClientTables& tables);

}  // namespace gpushare::daemon
