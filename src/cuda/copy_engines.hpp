// SPDX-License-Identifier: Apache-2.0
// The two copy engines: one copy at a time per direction, in the order they come.
#pragma once

#include <deque>

#include "core/gpu.hpp"
#include "cuda/completions.hpp"
#include "cuda/program.hpp"

namespace gpushare::cuda {

class CopyQueue {
 public:
  CopyQueue(const SharedContext& context, Completions& completions)
      : completions_(completions), stream_(make_stream(context)) {}

  void submit(const Submission& submission, const DeviceCopy& copy, Time now, std::vector<gpushare::Event>& events);
  void collect(Time now, std::vector<gpushare::Event>& events);
  bool empty() const { return waiting_.empty(); }

 private:
  struct Waiting {
    Submission submission;
    Completion end;
  };

  void start_first(Time now, std::vector<gpushare::Event>& events);

  Completions& completions_;
  Stream stream_;
  std::deque<Waiting> waiting_;  // the first is under way
  Time started_{};
};

}  // namespace gpushare::cuda
