// SPDX-License-Identifier: Apache-2.0
// Brings the workers' tables to the host. A copy does it in 6 us on an H100, as long as nobody else copies to the host:
// beside large copies of others one in four waits for a whole one, and beside a stream of copies of some megabytes for
// up to seconds, because the copy engine serves a queue until it is empty. A kernel of one block that copies takes 8
// us, 15 us beside any copies, and never more than 40; but it needs a place on an SM.
//
// So a read is a copy, and one that is late is started anew as a kernel. The next reads are kernels, too, for a while.
#pragma once

#include <optional>

#include "core/kernel.hpp"
#include "cuda/completions.hpp"

namespace gpushare::cuda {

class TableReader {
 public:
  /// Of at most so many bytes.
  TableReader(const SharedContext& context, Completions& completions, std::size_t most_bytes);

  /// Starts reading, behind the event. One read at a time; `bytes` is a multiple of 16.
  void start(CUdeviceptr tables, std::size_t bytes, CUevent behind);
  bool is_reading() const { return read_.word != nullptr; }
  bool has_ended() const { return is_reading() && read_.reached(); }
  void end();
  /// As of the last read that has ended.
  const std::byte* data() const { return data_; }

  /// Starts the read anew, as a kernel, if it is a copy that may be late. True if it did.
  bool hurry();
  /// What has to be free on some SM while reads are kernels.
  std::optional<BlockNeeds> room() const;

 private:
  bool by_kernel() const { return late_copy_.word != nullptr || kernels_to_come_ > 0; }
  void copy();
  void launch();

  Completions& completions_;
  Stream copies_;
  Stream kernels_;
  LoadedModule module_;
  CUfunction kernel_;
  int registers_;
  PinnedMemory copied_;
  PinnedMemory written_;
  CUdeviceptr written_address_;
  CUdeviceptr tables_{};
  std::size_t bytes_ = 0;
  Completion read_;
  Completion late_copy_;
  bool is_copy_ = false;
  int kernels_to_come_ = 0;
  const std::byte* data_;
};

}  // namespace gpushare::cuda
