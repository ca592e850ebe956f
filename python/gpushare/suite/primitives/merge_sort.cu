// SPDX-License-Identifier: Apache-2.0
// Stable merge sort of tiles of key-value pairs in shared memory: run by run of doubling length, every thread looks up
// the places of one pair of either run in the other. Pairs with equal keys keep their order.

constexpr int kThreads = 512;
constexpr int kTile = 2 * kThreads;
constexpr unsigned int kLastKey = 0xFFFFFFFFu;

enum class Equal { comes_after, comes_before };

// How many keys of a sorted run come before this one.
template <Equal kEqual>
__device__ int rank_in(const unsigned int* run, int length, unsigned int key) {
  int low = 0, high = length;
  while (low < high) {
    int middle = (low + high) / 2;
    bool is_before = kEqual == Equal::comes_before ? run[middle] <= key : run[middle] < key;
    low = is_before ? middle + 1 : low;
    high = is_before ? high : middle;
  }
  return low;
}

// The last tile may be shorter: what fills it up comes last, since the sort is stable.
extern "C" __global__ void merge_sort(unsigned int* __restrict__ sorted_keys, unsigned int* __restrict__ sorted_values,
                                      const unsigned int* __restrict__ keys, const unsigned int* __restrict__ values,
                                      int count) {
  __shared__ unsigned int tile_keys[kTile];
  __shared__ unsigned int tile_values[kTile];
  int first = blockIdx.x * kTile;
  for (int i = threadIdx.x; i < kTile; i += kThreads) {
    bool is_there = first + i < count;
    tile_keys[i] = is_there ? keys[first + i] : kLastKey;
    tile_values[i] = is_there ? values[first + i] : 0;
  }
  for (int length = 1; length < kTile; length *= 2) {
    __syncthreads();
    int place = threadIdx.x % length;
    int left = 2 * (threadIdx.x - place);
    int right = left + length;
    unsigned int left_key = tile_keys[left + place], left_value = tile_values[left + place];
    unsigned int right_key = tile_keys[right + place], right_value = tile_values[right + place];
    int left_target = left + place + rank_in<Equal::comes_after>(tile_keys + right, length, left_key);
    int right_target = left + place + rank_in<Equal::comes_before>(tile_keys + left, length, right_key);
    __syncthreads();
    tile_keys[left_target] = left_key;
    tile_values[left_target] = left_value;
    tile_keys[right_target] = right_key;
    tile_values[right_target] = right_value;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kTile && first + i < count; i += kThreads) {
    sorted_keys[first + i] = tile_keys[i];
    sorted_values[first + i] = tile_values[i];
  }
}
