// SPDX-License-Identifier: Apache-2.0
// Counts the visits of every page in a log, one line per thread: it hashes the characters of the address, as many as
// there are, and adds to the counter of the hash. Pages whose hashes agree share one. Popular pages collide in atomics.

constexpr unsigned int kOffsetBasis = 2166136261u;
constexpr unsigned int kPrime = 16777619u;

// `counters` is a power of two. An address ends at a tab, or where its line does.
extern "C" __global__ void page_view_count(unsigned int* __restrict__ visits, const unsigned char* __restrict__ log,
                                           const int* __restrict__ line_starts, int lines, int counters) {
  int line = blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= lines) return;
  int end = line_starts[line + 1] - 1;
  unsigned int hash = kOffsetBasis;
  for (int i = line_starts[line]; i < end; ++i) {
    unsigned char character = log[i];
    if (character == '\t') break;
    hash = (hash ^ character) * kPrime;
  }
  atomicAdd(&visits[hash & (counters - 1)], 1u);
}
