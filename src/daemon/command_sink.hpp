// SPDX-License-Identifier: Apache-2.0
// The seam between the data plane and the device: a session on a GPU, a simulated one, or an echo.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/client_tables.hpp"
#include "daemon/job_reply.hpp"

namespace gpushare::daemon {

enum class ClientId : std::uint64_t {};

/// A launch with all numbers checked.
struct LaunchCommand {
  ClientId client{};
  std::shared_ptr<const ApplicationEntry> application;
  std::shared_ptr<const KernelEntry> kernel;
  std::array<std::uint32_t, 3> grid{};
  std::vector<std::byte> arguments;                       ///< with the arrays' addresses
  std::vector<std::shared_ptr<const ArrayEntry>> arrays;  ///< in use until the job has ended
  JobReply reply;
};

enum class CopyDirection { In, Out };  ///< to the device, to the arena

/// A copy between an array and an arena; both ranges are inside.
struct CopyCommand {
  ClientId client{};
  std::shared_ptr<const ApplicationEntry> application;
  CopyDirection direction{};
  std::shared_ptr<const ArrayEntry> array;
  std::uint64_t array_offset = 0;
  std::shared_ptr<const ArenaEntry> arena;
  std::uint64_t arena_offset = 0;
  std::uint64_t bytes = 0;
  JobReply reply;
};

/// Takes the commands of all clients, those of an application in order. Called by the port server's thread alone and
/// must not block: all clients would wait. It owns the reply and uses it once, now or later, in any thread. It may
/// throw InvalidInput instead, without changing the command: that is the reply then.
class CommandSink {
 public:
  virtual ~CommandSink() = default;
  virtual void launch(LaunchCommand&& command) = 0;
  virtual void copy(CopyCommand&& command) = 0;
  /// This client sends no more commands, and does not wait for its jobs: those that have not started never start.
  virtual void client_gone(ClientId client) noexcept = 0;
};

}  // namespace gpushare::daemon
