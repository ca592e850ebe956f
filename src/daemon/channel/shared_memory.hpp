// SPDX-License-Identifier: Apache-2.0
// Memory that two processes map. Its size is sealed: a file that the other process could still shrink would kill this
// one at the next access (SIGBUS), so both sides refuse memory without the seals.
#pragma once

#include <cstddef>
#include <span>

#include "daemon/channel/file_descriptor.hpp"

namespace gpushare::daemon {

class SharedMemory {
 public:
  /// New memory of zeros; `name` is what /proc shows.
  static SharedMemory create(const char* name, std::size_t bytes);
  /// Memory that another process has made. Throws InvalidInput unless it is a memfd of small pages with a sealed size
  /// of at most `most_bytes`.
  static SharedMemory map(FileDescriptor file, std::size_t most_bytes);

  SharedMemory(SharedMemory&& other) noexcept
      : file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, std::span<std::byte>())) {}
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  std::span<std::byte> bytes() const { return bytes_; }
  int descriptor() const { return file_.number(); }

 private:
  SharedMemory(FileDescriptor file, std::size_t bytes);

  FileDescriptor file_;
  std::span<std::byte> bytes_;
};

}  // namespace gpushare::daemon
