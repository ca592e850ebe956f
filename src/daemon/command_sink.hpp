// SPDX-License-Identifier: Apache-2.0
// The seam between the data plane and the device: a session on a GPU, a simulated one, or an echo.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/application_account.hpp"
#include "daemon/channel/handle_table.hpp"
#include "daemon/channel/shared_memory.hpp"
#include "daemon/job_reply.hpp"

namespace gpushare::daemon {

// What a client's handles stand for. Control messages put entries into the tables; commands in the ring name them.

class SessionApplication;

/// An in-order stream of this client's commands.
struct ApplicationEntry {
  std::string name;
  std::shared_ptr<SessionApplication> in_session{};  ///< for a SessionSink
  std::shared_ptr<ApplicationAccount> account{};     ///< where its jobs are counted, if anywhere
};

/// The duration of a launch without other work on the device, in nanoseconds.
struct AloneTime {
  double per_block = 0;  ///< with the whole GPU at work
  double of_first = 0;
  double of(double blocks) const { return std::max(blocks * per_block, of_first); }
};

/// A kernel as it is launched: with one shape of block and so much shared memory, because what schedulers know of it
/// depends on both.
struct KernelEntry {
  std::string name;
  std::optional<std::size_t> argument_bytes{};  ///< the size of its parameters; nullopt: not checked
  std::shared_ptr<const void> owner{};          ///< goes last, and with it what the code needs
  std::shared_ptr<const void> code{};           ///< for the sink alone
  std::vector<std::uint32_t> pointers{};        ///< among the arguments: only an array, or 0, may be there
  std::optional<AloneTime> alone{};             ///< where a profile says so
};

struct ArrayEntry {
  std::uint64_t address = 0;  ///< in the device's memory
  std::uint64_t bytes = 0;
  std::shared_ptr<const void> owner;  ///< keeps the memory
};

/// Memory of the client that the worker maps: copies go from here to arrays and back.
struct ArenaEntry {
  SharedMemory memory;
  std::shared_ptr<const void> owner;  ///< keeps it pinned
};

struct ClientTables {
  HandleTable<ApplicationEntry> applications{"application", 1 << 16};
  HandleTable<KernelEntry> kernels{"kernel", 1 << 16};
  HandleTable<ArrayEntry> arrays{"array", 1 << 16};
  HandleTable<ArenaEntry> arenas{"arena", 1 << 8};
};

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
