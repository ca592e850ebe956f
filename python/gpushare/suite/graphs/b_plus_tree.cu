// SPDX-License-Identifier: Apache-2.0
// Looks up keys in a B+ tree, one query per block and one thread per key of a node: the thread between whose key and
// the next the query lies says where to go on. A node has kOrder keys, the unused ones at its end are kNoKey.

constexpr int kOrder = 256;
constexpr int kNoKey = 0x7FFFFFFF;
constexpr int kNotFound = -1;

// `children` are nodes, but records in the leaves; the root is node 0. The block size must be kOrder.
extern "C" __global__ void b_plus_tree(int* __restrict__ records, const int* __restrict__ queries,
                                       const int* __restrict__ keys, const int* __restrict__ children, int depth) {
  __shared__ int child;
  __shared__ int record;
  int thread = threadIdx.x;
  int query = queries[blockIdx.x];
  if (thread == 0) record = kNotFound;
  __syncthreads();
  int node = 0;
  for (int level = 0; level < depth; ++level) {
    int i = node * kOrder + thread;
    int next_key = thread + 1 < kOrder ? keys[i + 1] : kNoKey;
    if (keys[i] <= query && query < next_key) child = children[i];
    __syncthreads();
    node = child;
    // Before the next level writes the child of its own.
    __syncthreads();
  }
  int i = node * kOrder + thread;
  if (keys[i] == query) record = children[i];
  __syncthreads();
  if (thread == 0) records[blockIdx.x] = record;
}
