// SPDX-License-Identifier: Apache-2.0
// Inclusive scan in one pass with decoupled look-back: a block takes a ticket and waits for the blocks before it.
enum : unsigned long long { aggregate = 1ull << 32, prefix = 2ull << 32 };

extern "C" __global__ void lookback(const unsigned* in, unsigned* out, unsigned* ticket, volatile unsigned long long* state,
                                    int n) {
  __shared__ unsigned tile[64], part, before;
  if (threadIdx.x == 0) part = atomicAdd(ticket, 1u);
  __syncthreads();
  const unsigned i = part * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
    const unsigned other = threadIdx.x >= distance ? tile[threadIdx.x - distance] : 0;
    __syncthreads();
    tile[threadIdx.x] += other;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    const unsigned own = tile[blockDim.x - 1];
    state[part] = (part == 0 ? prefix : aggregate) | own;
    unsigned sum = 0;
    for (int k = static_cast<int>(part) - 1; k >= 0;) {
      const unsigned long long seen = state[k];
      if (seen == 0) continue;
      sum += static_cast<unsigned>(seen);
      if ((seen & prefix) != 0) break;
      --k;
    }
    before = sum;
    __threadfence();
    state[part] = prefix | (sum + own);
  }
  __syncthreads();
  if (i < n) out[i] = before + tile[threadIdx.x];
}
