// SPDX-License-Identifier: Apache-2.0
// Device memory that processes share: a file without a name, which every process that has it maps at an address of its
// own. Only so much of the driver's virtual memory as one whole allocation in one range of addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ptx_interpreter/global_memory.hpp"

namespace gpushare::stand_in {

/// The memory itself; it goes when nothing in this process refers to it any more, and nothing in another one.
class SharedFile {
 public:
  static constexpr std::size_t unit = std::size_t{2} << 20;

  /// New, of this device. Throws Refusal.
  SharedFile(int device, std::size_t bytes);
  /// What another process has made: takes a copy of the descriptor. Throws Refusal.
  static std::shared_ptr<SharedFile> received(int descriptor);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }
  int device() const { return device_; }

 private:
  SharedFile(int device, int descriptor, std::size_t bytes);

  int device_;
  int descriptor_;
  std::span<std::byte> bytes_;
};

/// The files that were made here and are still there: they take of their device's memory.
class OwnFiles {
 public:
  void add(const std::shared_ptr<SharedFile>& file) { files_.push_back(file); }
  std::size_t bytes();

 private:
  std::vector<std::weak_ptr<SharedFile>> files_;
};

/// Addresses that were reserved, and what is mapped there.
struct AddressRange {
  std::size_t size = 0;
  std::shared_ptr<SharedFile> mapped{};
  interpreter::Devices accessible_to = 0;
};

struct SharedMemories {
  std::map<std::uint64_t, std::shared_ptr<SharedFile>> handles;
  std::map<std::uint64_t, AddressRange> ranges;
  std::uint64_t next_handle = 1;
};

}  // namespace gpushare::stand_in
