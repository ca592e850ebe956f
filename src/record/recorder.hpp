// SPDX-License-Identifier: Apache-2.0
// Records one process's use of CUDA, from its start to its end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "record/activity_records.hpp"
#include "record/cupti_activity.hpp"
#include "record/flusher.hpp"
#include "record/trace_file.hpp"

namespace gpushare::recording {

class Recorder {
 public:
  /// Its part of the recording is a file in the folder. Throws std::system_error where it cannot be written.
  explicit Recorder(const std::string& folder);

  /// Enables CUPTI's records, with the library at this path. Errors are reported in the file: the program runs on in
  /// any case.
  void start(const std::string& cupti_path) noexcept;

  /// Makes CUPTI's remaining records be written, and the end of the process; waits for that at most so long.
  /// Async-signal-safe. Does nothing in a forked child, which has no CUDA.
  void finish(std::chrono::milliseconds patience) noexcept;

  /// CUPTI's callbacks.
  void took(const std::uint8_t* buffer, std::size_t bytes) noexcept;
  void flush(std::uint32_t flags) noexcept;

 private:
  void enable();
  void start_flusher() noexcept;
  void write_process();
  void write_end() noexcept;
  void write_problem(const std::string& sentence) noexcept;
  std::uint64_t now() const;

  const pid_t process_;
  TraceFile file_;
  const CuptiActivity* cupti_ = nullptr;
  bool is_enabled_ = false;
  KernelNames names_;
  Flusher flusher_;
};

}  // namespace gpushare::recording
