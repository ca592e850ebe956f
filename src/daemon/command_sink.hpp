// SPDX-License-Identifier: Apache-2.0
// The seam between the data plane and what does the work: a session on a GPU, a simulated one, or an echo.
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

/// A launch whose every number has been checked.
struct LaunchCommand {
  ClientId client{};
  std::shared_ptr<const ApplicationEntry> application;
  std::shared_ptr<const KernelEntry> kernel;
  std::array<std::uint32_t, 3> grid{};
  std::vector<std::byte> arguments;                       ///< with the arrays' addresses
  std::vector<std::shared_ptr<const ArrayEntry>> arrays;  ///< to be kept until the job has ended
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
/// must not block: while it does, nobody is served. It keeps the reply and uses it once, now or later, in any thread.
/// It may throw InvalidInput instead, leaving the command as it is: then that is the reply.
class CommandSink {
 public:
  virtual ~CommandSink() = default;
  virtual void launch(LaunchCommand&& command) = 0;
  virtual void copy(CopyCommand&& command) = 0;
  /// No more commands of this client will come, and nobody waits for its jobs: what it has not started, never starts.
  virtual void client_gone(ClientId client) noexcept = 0;
};

}  // namespace gpushare::daemon
