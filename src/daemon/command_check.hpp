// SPDX-License-Identifier: Apache-2.0
// From a record that a client wrote to a command that can be carried out. The record is this side's own copy. Two ways
// to fail: a record that no correct client writes (PeerViolation), and one that asks for something impossible
// (InvalidInput, which names it).
#pragma once

#include <span>

#include "daemon/channel/wire.hpp"
#include "daemon/command_sink.hpp"

namespace gpushare::daemon {

/// Checks what all commands have in common.
wire::CommandHeader header_of(std::span<const std::byte> record);

/// The command without client and reply.
/// At most `most_blocks` in the grid.
LaunchCommand check_launch(std::span<const std::byte> record, const ClientTables& tables, std::uint64_t most_blocks);
CopyCommand check_copy(std::span<const std::byte> record, const ClientTables& tables);

}  // namespace gpushare::daemon
