// SPDX-License-Identifier: Apache-2.0
// Graphs that are made ready to be launched: how many nodes each has, and whether one is a collective.
#include <algorithm>
#include <vector>

#include "intercept/calls/known_launches.hpp"

namespace gpushare::intercept {
namespace {

std::vector<CUgraphNode> nodes_of(CUgraph graph) {
  size_t count = 0;
  if (call(real.cuGraphGetNodes, graph, static_cast<CUgraphNode*>(nullptr), &count) != CUDA_SUCCESS) return {};
  std::vector<CUgraphNode> nodes(count);
  if (call(real.cuGraphGetNodes, graph, nodes.data(), &count) != CUDA_SUCCESS) return {};
  nodes.resize(std::min(count, nodes.size()));
  return nodes;
}

/// What the driver does not tell of a node makes it none.
bool has_collective(const std::vector<CUgraphNode>& nodes) {
  return std::ranges::any_of(nodes, [](CUgraphNode node) {
    CUgraphNodeType type{};
    if (call(real.cuGraphNodeGetType, node, &type) != CUDA_SUCCESS) return false;
    CUgraph child = nullptr;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH && call(real.cuGraphChildGraphNodeGetGraph, node, &child) == CUDA_SUCCESS) {
      return has_collective(nodes_of(child));
    }
    CUDA_KERNEL_NODE_PARAMS launch{};
    if (type != CU_GRAPH_NODE_TYPE_KERNEL || call(real.cuGraphKernelNodeGetParams_v2, node, &launch) != CUDA_SUCCESS) {
      return false;
    }
    return is_collective_kernel(launch.func != nullptr ? static_cast<const void*>(launch.func) : launch.kern);
  });
}

CUresult instantiated(CUresult result, const CUgraphExec* made, CUgraph graph, void* caller) {
  const Membership* member = this_member();
  if (result != CUDA_SUCCESS || member == nullptr || made == nullptr) return result;
  const std::vector<CUgraphNode> nodes = nodes_of(graph);
  const bool uses_nccl = member->slot->collectives.load(std::memory_order_relaxed) > 0;  // others need not be asked
  remember_graph(*member, *made, {.nodes = nodes.size(), .has_collective = uses_nccl && has_collective(nodes)}, caller);
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
