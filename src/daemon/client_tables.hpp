// SPDX-License-Identifier: Apache-2.0
// What a client's handles stand for. Control messages put entries in; commands in the ring name them.
#pragma once

#include "daemon/handle_table.hpp"
#include "daemon/shared_memory.hpp"

namespace gpushare::daemon {

/// An in-order stream of this client's commands.
struct ApplicationEntry {
  std::string name;
  std::int64_t number = 0;  ///< what the sink calls it
};

/// A kernel as it is launched: with one shape of block and so much shared memory, because what schedulers know of it
/// depends on both.
struct KernelEntry {
  std::string name;
  std::size_t argument_bytes = 0;    ///< the size of its parameters
  std::shared_ptr<const void> code;  ///< for the sink alone
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
  HandleTable<ApplicationEntry> applications{"application", 1 << 10};
  HandleTable<KernelEntry> kernels{"kernel", 1 << 14};
  HandleTable<ArrayEntry> arrays{"array", 1 << 18};
  HandleTable<ArenaEntry> arenas{"arena", 1 << 8};
};

}  // namespace gpushare::daemon
