// SPDX-License-Identifier: Apache-2.0
// Inclusive prefix sum in one pass, with decoupled look-back (Merrill and Garland 2016).
// A block publishes the sum of its tile, then walks back over its predecessors, adding up their sums until it meets one
// whose whole prefix is known. A block takes the tile of its blockIdx, so it waits for blocks of smaller index only:
// all is well if blocks start in increasing order and a started block is finished. An atomic ticket would need not even
// that much, but then the kernel could not show that a scheduler keeps the order.
// A tile's state is one 64-bit word, status above sum, so no fence is needed. It must be zero before every launch.

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr int kItems = 8;  // per thread
constexpr unsigned int kWholeWarp = 0xffffffffu;

constexpr unsigned int kUnknown = 0, kTileSum = 1, kPrefix = 2;  // status

__device__ unsigned long long state_word(unsigned int status, int sum) {
  return (unsigned long long)status << 32 | (unsigned int)sum;
}

__device__ unsigned int status_of(unsigned long long state) { return state >> 32; }

__device__ int inclusive_warp_scan(int value, int lane) {
  for (int distance = 1; distance < kWarp; distance *= 2) {
    int below = __shfl_up_sync(kWholeWarp, value, distance);
    if (lane >= distance) value += below;
  }
  return value;
}

// Called by one whole warp: the sum of all tiles before this one, looking at 32 predecessors at a time.
__device__ int sum_of_predecessors(const volatile unsigned long long* states, int tile, int lane) {
  int sum = 0;
  for (int nearest = tile - 1;; nearest -= kWarp) {
    int predecessor = nearest - lane;
    unsigned long long state;
    do {
      state = predecessor >= 0 ? states[predecessor] : state_word(kPrefix, 0);
    } while (__any_sync(kWholeWarp, status_of(state) == kUnknown));
    unsigned int known_prefixes = __ballot_sync(kWholeWarp, status_of(state) == kPrefix);
    int last_lane = known_prefixes != 0 ? __ffs(known_prefixes) - 1 : kWarp - 1;
    int window = lane <= last_lane ? (int)(unsigned int)state : 0;
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
      window += __shfl_xor_sync(kWholeWarp, window, distance);
    }
    sum += window;
    if (known_prefixes != 0) return sum;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    scan_lookback(int* __restrict__ sums, const int* __restrict__ values, unsigned long long* tile_states, int count) {
  __shared__ int warp_sums[kThreads / kWarp];
  __shared__ int sum_before_tile;
  volatile unsigned long long* states = tile_states;
  int tile = blockIdx.x, lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  int first = (tile * kThreads + threadIdx.x) * kItems;

  int items[kItems];
  int thread_sum = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    thread_sum += first + k < count ? values[first + k] : 0;
    items[k] = thread_sum;
  }
  int up_to_thread = inclusive_warp_scan(thread_sum, lane);
  if (lane == kWarp - 1) warp_sums[warp] = up_to_thread;
  __syncthreads();

  if (warp == 0) {
    int up_to_warp = inclusive_warp_scan(lane < kThreads / kWarp ? warp_sums[lane] : 0, lane);
    int tile_sum = __shfl_sync(kWholeWarp, up_to_warp, kWarp - 1);
    if (lane < kThreads / kWarp) warp_sums[lane] = up_to_warp;
    if (lane == 0) states[tile] = state_word(kTileSum, tile_sum);
    int before = sum_of_predecessors(states, tile, lane);
    if (lane == 0) {
      states[tile] = state_word(kPrefix, before + tile_sum);
      sum_before_tile = before;
    }
  }
  __syncthreads();

  int before_thread = sum_before_tile + (warp > 0 ? warp_sums[warp - 1] : 0) + up_to_thread - thread_sum;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (first + k < count) sums[first + k] = before_thread + items[k];
  }
}
