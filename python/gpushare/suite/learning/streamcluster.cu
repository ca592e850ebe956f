// SPDX-License-Identifier: Apache-2.0
// What opening a candidate as a further centre would save, for every point: a point that is nearer to the candidate
// than to its own centre switches, and its saving goes to the last column of savings. One that stays would cost its
// centre's closing as much as the candidate is farther; that goes to the column of its centre. The rest of a row of
// savings stays as it was.

extern "C" __global__ void streamcluster(float* __restrict__ savings, unsigned char* __restrict__ switches,
                                         const float* __restrict__ coordinates, const float* __restrict__ weights,
                                         const float* __restrict__ costs, const int* __restrict__ centres,
                                         int candidate, int points, int dimensions, int centre_count) {
  extern __shared__ float candidate_coordinates[];
  for (int d = threadIdx.x; d < dimensions; d += blockDim.x)
    candidate_coordinates[d] = coordinates[(size_t)d * points + candidate];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points) return;
  float distance_squared = 0.0f;
  for (int d = 0; d < dimensions; ++d) {
    float difference = coordinates[(size_t)d * points + i] - candidate_coordinates[d];
    distance_squared += difference * difference;
  }
  float saving = costs[i] - distance_squared * weights[i];
  bool is_switching = saving > 0.0f;
  switches[i] = is_switching;
  int column = is_switching ? centre_count : centres[i];
  savings[(size_t)i * (centre_count + 1) + column] = saving;
}
