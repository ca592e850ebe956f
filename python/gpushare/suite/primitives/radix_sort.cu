// SPDX-License-Identifier: Apache-2.0
// One pass of a stable radix sort of pairs by 4 bits of their key: a block sorts its tile in shared memory by a split
// per bit, so that the pairs of a digit lie together, and moves each group to where the scanned counts say.

constexpr int kThreads = 256;
constexpr int kPerThread = 4;
constexpr int kTile = kThreads * kPerThread;
constexpr int kBits = 4;
constexpr int kDigits = 1 << kBits;
constexpr int kWarp = 32;
constexpr int kWarps = kThreads / kWarp;
constexpr unsigned int kAllLanes = 0xFFFFFFFFu;
constexpr unsigned int kLastKey = 0xFFFFFFFFu;

struct Place {
  int before;  // the sum over the threads before this one
  int total;   // over the block
};

// All threads have to pass a barrier before it is called again.
__device__ Place scanned(int value) {
  __shared__ int warp_sums[kWarps];
  int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  int sum = value;
  for (int distance = 1; distance < kWarp; distance *= 2) {
    int below = __shfl_up_sync(kAllLanes, sum, distance);
    if (lane >= distance) sum += below;
  }
  if (lane == kWarp - 1) warp_sums[warp] = sum;
  __syncthreads();
  Place place = {sum - value, 0};
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) place.before += warp_sums[w];
    place.total += warp_sums[w];
  }
  return place;
}

// Moves the pairs whose bit is 0 before those whose bit is 1, and keeps the order within both.
__device__ void split(unsigned int* keys, unsigned int* values, int bit) {
  int first = threadIdx.x * kPerThread;
  unsigned int own_keys[kPerThread], own_values[kPerThread];
  int zeros = 0;
  for (int k = 0; k < kPerThread; ++k) {
    own_keys[k] = keys[first + k];
    own_values[k] = values[first + k];
    zeros += ~own_keys[k] >> bit & 1;
  }
  Place place = scanned(zeros);
  for (int k = 0; k < kPerThread; ++k) {
    bool is_one = own_keys[k] >> bit & 1;
    int i = is_one ? place.total + first + k - place.before : place.before++;
    keys[i] = own_keys[k];
    values[i] = own_values[k];
  }
  __syncthreads();
}

// `offsets` says for each digit and block, digit after digit, where the block's first pair with that digit belongs.
extern "C" __global__ void radix_sort(unsigned int* __restrict__ sorted_keys, unsigned int* __restrict__ sorted_values,
                                      const unsigned int* __restrict__ keys, const unsigned int* __restrict__ values,
                                      const int* __restrict__ offsets, int count, int shift) {
  __shared__ unsigned int tile_keys[kTile];
  __shared__ unsigned int tile_values[kTile];
  __shared__ int digit_starts[kDigits];
  int first = blockIdx.x * kTile;
  for (int i = threadIdx.x; i < kTile; i += kThreads) {
    bool is_there = first + i < count;
    // What fills the last tile up stays behind every pair, since a split keeps the order.
    tile_keys[i] = is_there ? keys[first + i] : kLastKey;
    tile_values[i] = is_there ? values[first + i] : 0;
  }
  __syncthreads();
  for (int bit = shift; bit < shift + kBits; ++bit) split(tile_keys, tile_values, bit);

  for (int i = threadIdx.x; i < kTile; i += kThreads) {
    unsigned int digit = tile_keys[i] >> shift & (kDigits - 1);
    if (i == 0 || digit != (tile_keys[i - 1] >> shift & (kDigits - 1))) digit_starts[digit] = i;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kTile && first + i < count; i += kThreads) {
    unsigned int digit = tile_keys[i] >> shift & (kDigits - 1);
    int target = offsets[digit * gridDim.x + blockIdx.x] + i - digit_starts[digit];
    sorted_keys[target] = tile_keys[i];
    sorted_values[target] = tile_values[i];
  }
}
