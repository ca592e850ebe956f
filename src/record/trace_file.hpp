// SPDX-License-Identifier: Apache-2.0
// Writes a process's part of a recording: whole records, at once, so that a process that dies leaves what it has
// written.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>

#include "record/trace_format.hpp"

namespace gpushare::recording {

/// Records that are written together.
class RecordBatch {
 public:
  template <typename Record>
  void add(Record record, std::string_view text = {}) {
    static_assert(std::is_trivially_copyable_v<Record>);
    record.header.bytes = static_cast<std::uint32_t>(sizeof(Record) + text.size());
    record.header.kind = Record::kind;
    const auto* first = reinterpret_cast<const char*>(&record);
    bytes_.append(first, sizeof(Record)).append(text);
  }

  std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class TraceFile {
 public:
  /// A new file in the folder, named after the process: `<process>-<n>.part`, where n counts the programs that the
  /// process has been. Throws std::system_error where there can be none.
  static TraceFile create(const std::string& folder, std::uint32_t process);
  ~TraceFile();
  TraceFile(TraceFile&& other) noexcept;
  TraceFile& operator=(TraceFile&&) = delete;

  /// May be called by several threads. After the first failure, such as a full disk, nothing more is written, and one
  /// message goes to stderr.
  void write(const RecordBatch& batch) noexcept;

 private:
  TraceFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  void give_up() noexcept;

  std::mutex mutex_;
  int descriptor_;
  std::string path_;
};

}  // namespace gpushare::recording
