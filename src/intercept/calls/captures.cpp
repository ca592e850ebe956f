// SPDX-License-Identifier: Apache-2.0
#include "intercept/calls/captures.hpp"

#include "intercept/forks.hpp"
#include "intercept/phases.hpp"

namespace gpushare::intercept {

std::atomic<int> captures_under_way = 0;

void forget_captures() { captures_under_way = 0; }

namespace {

/// Counted before it begins: a launch of another thread may be captured as soon as it has.
template <class... Parameters>
CUresult begun(CUresult (*function)(Parameters...), Parameters... arguments) {
  complete_task();  // no mark could be put later
  ++captures_under_way;
  const CUresult result = call(function, arguments...);
  if (result != CUDA_SUCCESS) --captures_under_way;
  return result;
}

/// A capture that was invalidated ends by this call, too, with an error.
CUresult ended(decltype(real.cuStreamEndCapture) function, CUstream stream, CUgraph* graph) {
  const bool was_capturing = is_capturing(stream);
  const CUresult result = call(function, stream, graph);
  if (was_capturing && !is_capturing(stream) && captures_under_way > 0) --captures_under_way;
  return result;
}

}  // namespace
}  // namespace gpushare::intercept

using namespace gpushare::intercept;

extern "C" {

CUresult cuStreamBeginCapture(CUstream stream) { return begun(real.cuStreamBeginCapture, stream); }
CUresult cuStreamBeginCapture_ptsz(CUstream stream) { return begun(real.cuStreamBeginCapture_ptsz, stream); }
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return begun(real.cuStreamBeginCapture_v2, stream, mode);
}
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  return begun(real.cuStreamBeginCapture_v2_ptsz, stream, mode);
}
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  return begun(real.cuStreamBeginCaptureToGraph, stream, graph, dependencies, edges, count, mode);
}
CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                          const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode) {
  return begun(real.cuStreamBeginCaptureToGraph_ptsz, stream, graph, dependencies, edges, count, mode);
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return ended(real.cuStreamEndCapture, named(stream, DefaultStream::Legacy), graph);
}
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
  return ended(real.cuStreamEndCapture_ptsz, named(stream, DefaultStream::PerThread), graph);
}

}  // extern "C"
