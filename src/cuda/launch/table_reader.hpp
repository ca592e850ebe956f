// SPDX-License-Identifier: Apache-2.0
// Copies the workers' tables to the host. A copy takes 6 us on an H100, as long as no other application copies to the
// host: beside large copies one in four waits for a whole one, and beside a stream of copies of some megabytes for up
// to seconds, because the copy engine serves a queue until it is empty. A copying kernel of one block takes 8 us, 15 us
// beside any copies, and never more than 40; but it needs a place on an SM.
//
// So a read is a copy, and where that is late also a kernel: the first to end counts.
#pragma once

#include <optional>

#include "core/model/kernel.hpp"
#include "cuda/driver/completions.hpp"

namespace gpushare::cuda {

class TableReader {
 public:
  /// Reads at most so many bytes.
  TableReader(const SharedContext& context, Completions& completions, std::size_t most_bytes);

  ~TableReader();
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  /// Starts reading, behind the event if there is one. One read at a time; `bytes` is a multiple of 16.
  void start(CUdeviceptr tables, std::size_t bytes, CUevent behind);
  bool is_reading() const { return is_reading_; }
  bool has_ended() const { return is_reading_ && (copy_.has_ended() || kernel_.has_ended()); }
  void end();
  /// As of the last read that has ended.
  const std::byte* data() const { return data_; }

  /// The read takes too long: starts it once more, in the other way. False if both are running.
  bool hurry();
  /// The resources that have to be free on some SM, while copies are late again and again.
  std::optional<BlockNeeds> room() const;

 private:
  /// One of the two ways, with a separate stream and buffer. What was started may end long after its read: then it does
  /// not count.
  struct Way {
    Stream stream;
    PinnedMemory memory;
    Completion end{};
    bool counts = false;  // for the present read

    bool is_under_way() const { return end.word != nullptr; }
    bool has_ended() const { return counts && end.reached(); }
  };

  /// Has what was started there ended?
  bool is_free(Way& way);
  void wait_on(const Way& way);
  void copy();
  void launch();

  Completions& completions_;
  LoadedModule module_;
  CUfunction function_;
  int registers_;
  Way copy_;
  Way kernel_;
  CUdeviceptr target_of_kernel_;
  CUdeviceptr tables_{};
  std::size_t bytes_ = 0;
  CUevent behind_ = nullptr;
  bool is_reading_ = false;
  int lateness_ = 0;
  const std::byte* data_;
};

}  // namespace gpushare::cuda
