// SPDX-License-Identifier: Apache-2.0
// Global alignment of many pairs of sequences: the 16 x 16 tiles on one anti-diagonal of every score matrix. The
// threads of a block, one per column, go down their tile along its anti-diagonals. Tiles of earlier diagonals are there
// already.

constexpr int kTile = 16;
constexpr int kLetters = 24;

// A matrix has one row and column more than the sequences have letters; the grid is the pairs by the tiles on the
// diagonal. The block size must be kTile.
extern "C" __global__ void needleman_wunsch(int* __restrict__ scores, const unsigned char* __restrict__ down,
                                            const unsigned char* __restrict__ across,
                                            const int* __restrict__ similarity, int length, int diagonal, int gap) {
  __shared__ int tile[kTile + 1][kTile + 1];
  __shared__ int similarities[kTile][kTile];
  int thread = threadIdx.x;
  int pair = blockIdx.x;
  int first_row = (min(diagonal, length / kTile - 1) - (int)blockIdx.y) * kTile;
  int first_column = diagonal * kTile - first_row;
  int pitch = length + 1;
  // The score above and to the left of the tile's first.
  int* corner = scores + ((size_t)pair * pitch + first_row) * pitch + first_column;

  const unsigned char* letters_down = down + pair * length + first_row;
  const int* similar = similarity + across[pair * length + first_column + thread];
  for (int row = 0; row < kTile; ++row) similarities[row][thread] = similar[letters_down[row] * kLetters];
  tile[0][thread + 1] = corner[thread + 1];
  tile[thread + 1][0] = corner[(thread + 1) * pitch];
  if (thread == 0) tile[0][0] = corner[0];
  __syncthreads();

  for (int step = 0; step < 2 * kTile - 1; ++step) {
    int row = step - thread;
    if (row >= 0 && row < kTile) {
      int matched = tile[row][thread] + similarities[row][thread];
      int skipped = max(tile[row][thread + 1], tile[row + 1][thread]) - gap;
      tile[row + 1][thread + 1] = max(matched, skipped);
    }
    __syncthreads();
  }
  for (int row = 1; row <= kTile; ++row) corner[row * pitch + thread + 1] = tile[row][thread + 1];
}
