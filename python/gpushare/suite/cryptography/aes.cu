// SPDX-License-Identifier: Apache-2.0
// AES-128 by table lookups (electronic code book), one column of a state per thread: the four threads of a state pass
// their columns through shared memory, a barrier a round. Bytes of a column count from the lowest of its word.

constexpr int kThreads = 256;
constexpr int kRows = 4;
constexpr int kRounds = 10;
constexpr int kKeyWords = 4 * (kRounds + 1);
constexpr int kBytes = 256;

__device__ unsigned int rotated_left(unsigned int word, int bits) { return __funnelshift_l(word, word, bits); }

// The thread whose byte in this row moves here; kStep is 1 where rows move left and -1 where they move right.
template <int kStep>
__device__ int source_of(int row) {
  return (threadIdx.x & ~3) | ((threadIdx.x + kStep * row) & 3);
}

// `mixed_table` holds what a byte of the first row adds to the mixed column, `substituted_table` the byte itself.
template <int kStep>
__device__ void cipher(unsigned int* result, const unsigned int* states, const unsigned int* round_keys,
                       const unsigned int* mixed_table, const unsigned char* substituted_table, int columns) {
  __shared__ unsigned int mixed[kBytes];
  __shared__ unsigned char substituted[kBytes];
  __shared__ unsigned int keys[kKeyWords];
  // Two, so that one barrier a round is enough.
  __shared__ unsigned int exchange[2][kThreads];

  int thread = threadIdx.x;
  mixed[thread] = mixed_table[thread];
  substituted[thread] = substituted_table[thread];
  if (thread < kKeyWords) keys[thread] = round_keys[thread];
  __syncthreads();

  int i = blockIdx.x * kThreads + thread;
  const unsigned int* key = keys + thread % 4;
  unsigned int column = (i < columns ? states[i] : 0) ^ key[0];
  for (int round = 1; round < kRounds; ++round) {
    exchange[round % 2][thread] = column;
    __syncthreads();
    column = key[4 * round];
    for (int row = 0; row < kRows; ++row) {
      unsigned int byte = exchange[round % 2][source_of<kStep>(row)] >> 8 * row & 0xFF;
      column ^= rotated_left(mixed[byte], 8 * row);
    }
  }
  exchange[kRounds % 2][thread] = column;
  __syncthreads();
  column = key[4 * kRounds];
  for (int row = 0; row < kRows; ++row) {
    unsigned int byte = exchange[kRounds % 2][source_of<kStep>(row)] >> 8 * row & 0xFF;
    column ^= (unsigned int)substituted[byte] << 8 * row;
  }
  if (i < columns) result[i] = column;
}

extern "C" __global__ void aes_encrypt(unsigned int* __restrict__ ciphertext,
                                       const unsigned int* __restrict__ plaintext,
                                       const unsigned int* __restrict__ round_keys,
                                       const unsigned int* __restrict__ mixed_table,
                                       const unsigned char* __restrict__ substituted_table, int columns) {
  cipher<1>(ciphertext, plaintext, round_keys, mixed_table, substituted_table, columns);
}

extern "C" __global__ void aes_decrypt(unsigned int* __restrict__ plaintext,
                                       const unsigned int* __restrict__ ciphertext,
                                       const unsigned int* __restrict__ round_keys,
                                       const unsigned int* __restrict__ mixed_table,
                                       const unsigned char* __restrict__ substituted_table, int columns) {
  cipher<-1>(plaintext, ciphertext, round_keys, mixed_table, substituted_table, columns);
}
