// SPDX-License-Identifier: Apache-2.0
// The two copy engines: one copy at a time per direction, by rank. Whole copies go to the direction's stream at once.
// Of copies in pieces it has as many at a time as they say: what is in a stream cannot be overtaken.
#pragma once

#include <deque>

#include "core/copy_line.hpp"
#include "cuda/completions.hpp"
#include "cuda/program.hpp"

namespace gpushare::cuda {

class CopyQueue {
 public:
  /// The program says where each copy is from and goes to.
  CopyQueue(const SharedContext& context, Completions& completions, const Program& program)
      : completions_(completions), program_(program), stream_(make_stream(context)) {}

  void submit(const Submission& copy, Time now, std::vector<gpushare::Event>& events);
  void collect(Time now, std::vector<gpushare::Event>& events);
  bool empty() const { return line_.empty() && in_stream_.empty(); }

 private:
  struct UnderWay {
    CopyPiece piece;
    Completion end;
  };

  bool may_send() const;
  void send_all();
  void send(const CopyPiece& piece);
  void start_first(Time now, std::vector<gpushare::Event>& events);

  Completions& completions_;
  const Program& program_;
  Stream stream_;
  CopyLine line_;
  std::deque<UnderWay> in_stream_;  // the first is under way
  CopyStarts starts_;
};

}  // namespace gpushare::cuda
