// SPDX-License-Identifier: Apache-2.0
// The memory of one client's port: a header and two rings. The worker makes it, the client maps it.
#pragma once

#include "daemon/channel/ring.hpp"
#include "daemon/channel/shared_memory.hpp"

namespace gpushare::daemon {

/// The place of a ring.
struct RingPlace {
  RingControl* control = nullptr;
  std::span<std::byte> bytes;
};

class PortMemory {
 public:
  /// Sizes must be powers of two.
  static PortMemory create(std::size_t command_bytes, std::size_t completion_bytes);
  /// Throws InvalidInput for memory of another version or of impossible sizes.
  static PortMemory map(FileDescriptor file);

  RingPlace commands() const { return commands_; }
  RingPlace completions() const { return completions_; }
  int descriptor() const { return memory_.descriptor(); }

 private:
  PortMemory(SharedMemory memory, RingPlace commands, RingPlace completions)
      : memory_(std::move(memory)), commands_(commands), completions_(completions) {}

  SharedMemory memory_;
  RingPlace commands_;
  RingPlace completions_;
};

}  // namespace gpushare::daemon
