// SPDX-License-Identifier: Apache-2.0
// What streams are told while they are captured, and graphs made of it. The nodes of a graph are in the order in which
// they were captured, one behind the other, which is an order that every graph allows.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "device/stream.hpp"

namespace gpushare::stand_in {

/// Makes what a stream is to do when the graph is launched: anew each time.
struct Node {
  std::function<Command()> command;
  CUfunction kernel = nullptr;  ///< of a launch
};

struct Graph {
  std::vector<Node> nodes;
};

struct Capture {
  CUstream origin = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  Graph graph;
  bool is_spoilt = false;
};

/// What a thread may do while something is captured: as it has exchanged it.
inline CUstreamCaptureMode& capture_mode_of_thread() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

}  // namespace gpushare::stand_in
