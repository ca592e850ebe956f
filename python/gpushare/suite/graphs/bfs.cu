// SPDX-License-Identifier: Apache-2.0
// One level of a breadth-first search: a warp looks at 32 vertices and goes through the neighbours of those in the
// frontier together. Who finds a vertex first does not matter: all write the same level.

constexpr int kWarp = 32;
constexpr unsigned int kAllLanes = 0xFFFFFFFFu;
constexpr int kUnseen = -1;

extern "C" __global__ void bfs(int* __restrict__ levels, int* __restrict__ goes_on, const int* __restrict__ offsets,
                               const int* __restrict__ neighbours, int vertices, int level) {
  int vertex = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x % kWarp;
  bool expands = vertex < vertices && levels[vertex] == level;
  int begin = expands ? offsets[vertex] : 0;
  int end = expands ? offsets[vertex + 1] : 0;
  bool found = false;
  for (unsigned int frontier = __ballot_sync(kAllLanes, expands); frontier != 0; frontier &= frontier - 1) {
    int owner = __ffs(frontier) - 1;
    int first = __shfl_sync(kAllLanes, begin, owner);
    int last = __shfl_sync(kAllLanes, end, owner);
    for (int edge = first + lane; edge < last; edge += kWarp) {
      int neighbour = neighbours[edge];
      if (levels[neighbour] == kUnseen) {
        levels[neighbour] = level + 1;
        found = true;
      }
    }
  }
  if (found) *goes_on = 1;
}
