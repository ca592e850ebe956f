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

namespace gpushare::stand_in {

/// The memory itself; it goes when nobody in this process has it any more, and everywhere when nobody else has.
class SharedFile {
 public:
  static constexpr std::size_t unit = std::size_t{2} << 20;

  /// New. Throws Refusal.
  explicit SharedFile(std::size_t bytes);
  /// What somebody else has made: takes a copy of the descriptor. Throws Refusal.
  static std::shared_ptr<SharedFile> received(int descriptor);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }

 private:
  SharedFile(int descriptor, std::size_t bytes);

  int descriptor_;
  std::span<std::byte> bytes_;
};

/// Addresses that were reserved, and what is mapped there.
struct AddressRange {
  std::size_t size = 0;
  std::shared_ptr<SharedFile> mapped{};
  bool is_shown = false;
};

struct SharedMemories {
  std::map<std::uint64_t, std::shared_ptr<SharedFile>> handles;
  std::map<std::uint64_t, AddressRange> ranges;
  std::vector<std::weak_ptr<SharedFile>> own;  ///< made here: they take of the device's memory
  std::uint64_t next_handle = 1;

  /// Of what was made here and is still there.
  std::size_t taken_bytes();
};

}  // namespace gpushare::stand_in
