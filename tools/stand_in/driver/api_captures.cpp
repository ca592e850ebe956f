// SPDX-License-Identifier: Apache-2.0
// The driver's functions about captured streams, and the graphs that come of them.
#include <algorithm>

#include "driver/call.hpp"

namespace gpushare::stand_in {
namespace {

template <class Handle>
std::shared_ptr<Graph> graph_of(const std::map<Handle, std::shared_ptr<Graph>>& graphs, Handle handle) {
  const auto found = graphs.find(handle);
  expect(found != graphs.end(), CUDA_ERROR_INVALID_VALUE, "no such graph");
  return found->second;
}

void instantiate(Machine& machine, CUgraphExec* made, CUgraph handle) {
  auto graph = std::make_shared<Graph>(*graph_of(machine.graphs, handle));
  *made = reinterpret_cast<CUgraphExec>(graph.get());
  machine.executables.emplace(*made, std::move(graph));
}

const Node& node_of(const Machine& machine, CUgraphNode handle) {
  for (const auto& [key, graph] : machine.graphs) {
    for (const Node& node : graph->nodes) {
      if (reinterpret_cast<CUgraphNode>(const_cast<Node*>(&node)) == handle) return node;
    }
  }
  throw Denial(CUDA_ERROR_INVALID_VALUE, "no such node");
}

/// All streams that have joined it are streams again.
std::shared_ptr<Capture> taken_capture(Stream& origin, CUstream handle) {
  const std::shared_ptr<Capture> capture = origin.capture;
  expect(capture != nullptr && capture->origin == handle, CUDA_ERROR_ILLEGAL_STATE, "no capture began in this stream");
  origin.gpu().machine().end_capture(capture);
  return capture;
}

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return answer(__func__, [&] { std::swap(*mode, capture_mode_of_thread()); });
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  return answer_in_stream(__func__, stream, [&](Stream& captured, Machine::Lock&) {
    expect(captured.capture == nullptr, CUDA_ERROR_ILLEGAL_STATE, "the stream is captured already");
    captured.capture = std::make_shared<Capture>(
        Capture{.origin = stream, .mode = mode, .thread = std::this_thread::get_id(), .graph = {}});
    captured.gpu().machine().captures.push_back(captured.capture);
  });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* handle) {
  *handle = nullptr;
  return answer_in_stream(__func__, stream, [&](Stream& captured, Machine::Lock&) {
    const std::shared_ptr<Capture> capture = taken_capture(captured, stream);
    if (capture->is_spoilt) throw Denial(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture was spoilt");
    auto graph = std::make_shared<Graph>(std::move(capture->graph));
    *handle = reinterpret_cast<CUgraph>(graph.get());
    captured.gpu().machine().graphs.emplace(*handle, std::move(graph));
  });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return answer_in_stream(__func__, stream, [&](Stream& asked, Machine::Lock&) {
    *status = asked.capture == nullptr   ? CU_STREAM_CAPTURE_STATUS_NONE
              : asked.capture->is_spoilt ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                         : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    std::vector<Node>& own = graph_of(all.graphs, handle)->nodes;
    for (std::size_t number = 0; nodes != nullptr && number < std::min(*count, own.size()); ++number) {
      nodes[number] = reinterpret_cast<CUgraphNode>(&own[number]);
    }
    *count = own.size();
  });
}

/// Of what is no launch the stand-in does not know more than that.
CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    *type = node_of(all, handle).kernel != nullptr ? CU_GRAPH_NODE_TYPE_KERNEL : CU_GRAPH_NODE_TYPE_EMPTY;
  });
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS* parameters) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    const Node& node = node_of(all, handle);
    expect(node.kernel != nullptr, CUDA_ERROR_INVALID_VALUE, "the node is no launch");
    *parameters = {.func = node.kernel};
  });
}

CUresult cuGraphInstantiate(CUgraphExec* made, CUgraph graph, unsigned long long) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) { instantiate(all, made, graph); });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* made, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    instantiate(all, made, graph);
    parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  });
}

/// In a stream that is captured its nodes become nodes of the other graph.
CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  return answer_in_stream(__func__, stream, [&](Stream& to, Machine::Lock&) {
    const std::shared_ptr<Graph> graph = graph_of(to.gpu().machine().executables, handle);
    for (const Node& node : graph->nodes) to.gpu().put_node(to, node);
  });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    expect(all.executables.erase(handle) == 1, CUDA_ERROR_INVALID_VALUE, "no such graph");
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    expect(all.graphs.erase(handle) == 1, CUDA_ERROR_INVALID_VALUE, "no such graph");
  });
}

}  // extern "C"
