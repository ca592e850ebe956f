// SPDX-License-Identifier: Apache-2.0
// The two copy engines: one copy at a time per direction, by rank. Whole copies go to the direction's stream at once,
// some tens of them. Of a copy in pieces the stream holds as many pieces at a time as the copy allows: work in a stream
// cannot be overtaken.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>

#include "core/engine/copy_line.hpp"
#include "cuda/code/program.hpp"
#include "cuda/driver/completions.hpp"

namespace gpushare::cuda {

class CopyQueue {
 public:
  CopyQueue(const SharedContext& context, Completions& completions)
      : completions_(completions), stream_(make_stream(context)) {}

  void submit(const Submission& submission, const DeviceCopy& copy, Time now, std::vector<gpushare::Event>& events);
  void collect(Time now, std::vector<gpushare::Event>& events);
  bool empty() const { return line_.empty() && in_stream_.empty(); }
  /// The running copy.
  std::optional<OperationId> first() const {
    return in_stream_.empty() ? std::nullopt : std::optional(in_stream_.front().piece.copy.id);
  }

 private:
  struct PieceUnderWay {
    CopyPiece piece;
    Completion end;
  };

  bool may_send() const;
  void send_all();
  void send(const CopyPiece& piece);
  void start_first(Time now, std::vector<gpushare::Event>& events);

  Completions& completions_;
  Stream stream_;
  CopyLine line_;
  std::unordered_map<OperationId, DeviceCopy> copies_;  // in the line or the stream
  std::deque<PieceUnderWay> in_stream_;                 // the first is under way
  CopyStarts starts_;
};

}  // namespace gpushare::cuda
