// SPDX-License-Identifier: Apache-2.0
// The places of records of a program's kernels in its page, and their keys: the same in every process and run, so that
// a scheduler can fill in earlier measurements beforehand.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "programs/program_page.hpp"

namespace gpushare::programs {

struct LaunchShape {
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::uint32_t shared_bytes = 0;

  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

/// The part of a name that fits into a KernelRecord, with its zero.
inline std::string_view cut_name(std::string_view name) {
  return {name.data(), std::min(name.size(), most_name_bytes - 1)};
}

/// 64-bit FNV-1a.
class StableHash {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) {
      value_ = (value_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
  }
  void add(std::uint32_t number) {
    for (int byte = 0; byte < 4; ++byte) {
      value_ = (value_ ^ (number >> (8 * byte) & 0xff)) * 0x100000001b3;
    }
  }
  /// Never 0.
  std::uint64_t value() const { return value_ != 0 ? value_ : 1; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

inline std::uint64_t kernel_key(std::string_view name, LaunchKind kind, const LaunchShape& shape) {
  StableHash hash;
  hash.add(cut_name(name));
  hash.add(static_cast<std::uint32_t>(kind));
  for (const std::uint32_t size : shape.grid) hash.add(size);
  for (const std::uint32_t size : shape.block) hash.add(size);
  hash.add(shape.shared_bytes);
  return hash.value();
}

/// Takes the place of the entry with this key: the first one that has it, or is empty, among so many places from key
/// modulo their number on, cyclically. Nothing where all of these have other keys.
template <class Entries>
std::optional<std::size_t> place_of(Entries& entries, std::uint64_t key, std::size_t places) {
  for (std::size_t step = 0; step < std::min(places, entries.size()); ++step) {
    const std::size_t index = (key + step) % entries.size();
    std::uint64_t found = 0;
    if (entries[index].key.compare_exchange_strong(found, key) || found == key) return index;
  }
  return std::nullopt;
}

template <std::size_t size>
void put_text(std::array<char, size>& to, std::string_view text) {
  const std::size_t bytes = std::min(text.size(), size - 1);
  std::memcpy(to.data(), text.data(), bytes);
  to[bytes] = '\0';
}

/// Where kernels with very many shapes have filled the page around a key, the shapes of a kernel share one record.
constexpr std::size_t most_places_for_a_shape = 64;

/// The record of this kernel in this shape, made if it does not exist: at its place according to place_of, among
/// `most_places_for_a_shape`; else that of the kernel with no shape, among all places. Nothing where the page is full.
inline std::optional<std::size_t> record_of(ProgramPage& page, std::string_view name, LaunchKind kind,
                                            LaunchShape shape, std::uint32_t library) {
  auto place = place_of(page.kernels, kernel_key(name, kind, shape), most_places_for_a_shape);
  if (!place) {
    shape = {};
    place = place_of(page.kernels, kernel_key(name, kind, shape), most_kernels);
  }
  if (!place) return std::nullopt;
  KernelRecord& record = page.kernels[*place];
  // Two processes that find it without a name at the same time write the same name.
  if (record.is_named.load(std::memory_order_acquire) == 0) {
    record.kind = kind;
    record.grid = shape.grid;
    record.block = shape.block;
    record.shared_bytes = shape.shared_bytes;
    record.library = library;
    put_text(record.name, cut_name(name));
    record.is_named.store(1, std::memory_order_release);
  }
  return place;
}

/// The index of a library's name, without its folder. Where there are too many, they share the last one.
inline std::uint32_t library_of(ProgramPage& page, std::string_view name) {
  StableHash hash;
  hash.add(name);
  const auto place = place_of(page.libraries, hash.value(), most_libraries);
  if (!place) return most_libraries - 1;
  put_text(page.libraries[*place].name, name);
  return static_cast<std::uint32_t>(*place);
}

/// Counts kernels, or images, that run whole for this reason. Where there are too many reasons, it is left out.
inline void count_remark(ProgramPage& page, std::string_view text, std::uint64_t count = 1) {
  StableHash hash;
  hash.add(text);
  const auto place = place_of(page.remarks, hash.value(), most_remarks);
  if (!place) return;
  put_text(page.remarks[*place].text, text);
  page.remarks[*place].count.fetch_add(count);
}

}  // namespace gpushare::programs
