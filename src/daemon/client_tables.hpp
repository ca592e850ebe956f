// SPDX-License-Identifier: Apache-2.0
// The objects of a client's handles. Control messages add entries; commands in the ring name them.
#pragma once

#include <algorithm>
#include <optional>

#include "daemon/application_account.hpp"
#include "daemon/channel/handle_table.hpp"
#include "daemon/channel/shared_memory.hpp"

namespace gpushare::daemon {

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

/// A kernel with one shape of block and one amount of shared memory, because a scheduler's knowledge of it depends on
/// both.
struct KernelEntry {
  std::string name;
  std::optional<std::size_t> argument_bytes{};  ///< the size of its parameters; nullopt: nobody looks at them
  std::shared_ptr<const void> owner{};          ///< goes last, and with it what the code needs
  std::shared_ptr<const void> code{};           ///< for the sink alone
  std::vector<std::uint32_t> pointers{};        ///< among the arguments: only an array, or 0, may be there
  std::optional<AloneTime> alone{};             ///< from a profile, if there is one
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

}  // namespace gpushare::daemon
