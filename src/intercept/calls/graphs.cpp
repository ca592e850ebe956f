// SPDX-License-Identifier: Apache-2.0
// Graphs that are made ready to be launched: how many nodes each has.
#include "intercept/calls/known_launches.hpp"

namespace gpushare::intercept {
namespace {

CUresult instantiated(CUresult result, const CUgraphExec* made, CUgraph graph, void* caller) {
  const Membership* member = this_member();
  if (result != CUDA_SUCCESS || member == nullptr || made == nullptr) return result;
  size_t nodes = 0;
  if (call(real.cuGraphGetNodes, graph, static_cast<CUgraphNode*>(nullptr), &nodes) != CUDA_SUCCESS) nodes = 0;
  remember_graph(*member, *made, nodes, caller);
  return result;
}

}  // namespace
}  // namespace gpushare::intercept

using namespace gpushare::intercept;

#define GPUSHARE_CALLER_OF_GRAPHS __builtin_return_address(0)

extern "C" {

CUresult cuGraphInstantiate(CUgraphExec* made, CUgraph graph, CUgraphNode* error, char* log, size_t log_bytes) {
  const CUresult result = call(real.cuGraphInstantiate, made, graph, error, log, log_bytes);
  return instantiated(result, made, graph, GPUSHARE_CALLER_OF_GRAPHS);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* made, CUgraph graph, CUgraphNode* error, char* log, size_t log_bytes) {
  const CUresult result = call(real.cuGraphInstantiate_v2, made, graph, error, log, log_bytes);
  return instantiated(result, made, graph, GPUSHARE_CALLER_OF_GRAPHS);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph, unsigned long long flags) {
  const CUresult result = call(real.cuGraphInstantiateWithFlags, made, graph, flags);
  return instantiated(result, made, graph, GPUSHARE_CALLER_OF_GRAPHS);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* made, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  const CUresult result = call(real.cuGraphInstantiateWithParams, made, graph, parameters);
  return instantiated(result, made, graph, GPUSHARE_CALLER_OF_GRAPHS);
}
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* made, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  const CUresult result = call(real.cuGraphInstantiateWithParams_ptsz, made, graph, parameters);
  return instantiated(result, made, graph, GPUSHARE_CALLER_OF_GRAPHS);
}

}  // extern "C"
