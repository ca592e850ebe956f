// SPDX-License-Identifier: Apache-2.0
// Copies between memory of this process and of the device. Ordinary memory goes in pieces through arenas: while the
// worker copies one piece between arena and device, this thread copies another one.
#pragma once

#include "client/link.hpp"

namespace gpushare::client {

/// A part of an array of the worker.
struct DevicePart {
  Handle array = 0;
  std::uint64_t offset = 0;
};

void copy_to_device(Link& link, DevicePart to, std::span<const std::byte> from);
void copy_to_host(Link& link, DevicePart from, std::span<std::byte> to);

/// A copy of bytes of an arena: `verb` is "write" to the device, or "read" from it. The answer comes when it is done.
Answer begin_copy(Link& link, const char* verb, DevicePart part, const Arena& arena, std::uint64_t arena_offset,
                  std::uint64_t bytes);

}  // namespace gpushare::client
