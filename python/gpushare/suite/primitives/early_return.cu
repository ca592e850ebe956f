// SPDX-License-Identifier: Apache-2.0
// Sums of ragged segments, one per block: at every level of the tree the threads that are done return, in the middle of
// a warp and ahead of barriers that the others still meet. Barriers count the threads that have not returned (sm_70
// on).

constexpr int kThreads = 256;

extern "C" __global__ void __launch_bounds__(kThreads)
    early_return(float* __restrict__ segment_sums, const float* __restrict__ values, const int* __restrict__ offsets) {
  __shared__ float partial[kThreads];
  int thread = threadIdx.x;
  int begin = offsets[blockIdx.x], end = offsets[blockIdx.x + 1];
  if (begin + thread >= end) {
    if (thread == 0) segment_sums[blockIdx.x] = 0.0f;  // an empty segment
    return;
  }
  float sum = 0.0f;
  for (int i = begin + thread; i < end; i += kThreads) sum += values[i];
  partial[thread] = sum;
  __syncthreads();
  for (int live = min(end - begin, kThreads); live > 1;) {
    int half = (live + 1) / 2;
    if (thread >= half) return;
    if (thread + half < live) partial[thread] += partial[thread + half];
    live = half;
    __syncthreads();
  }
  segment_sums[blockIdx.x] = partial[0];
}
