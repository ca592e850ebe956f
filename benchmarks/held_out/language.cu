// SPDX-License-Identifier: Apache-2.0
// Kernels as serving a language model has them. Nothing in gpushare was tuned on these.
#include <cuda_fp16.h>

__device__ unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

// C = A B^T by tensor cores, both row-major with rows of `depth` halves. A block of 256 threads makes 128 x 128 of C.
extern "C" __global__ void __launch_bounds__(256) tensor_matmul(float* c, const __half* a, const __half* b, int depth,
                                                               int columns) {
  constexpr int side = 128, step = 32, pitch = step + 8;
  __shared__ __align__(16) __half tile_a[side * pitch];
  __shared__ __align__(16) __half tile_b[side * pitch];
  const int tiles = columns / side;
  const int row = blockIdx.x / tiles * side, column = blockIdx.x % tiles * side;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
  float sums[4][4][4] = {};
  for (int k = 0; k < depth; k += step) {
    for (int i = threadIdx.x; i < side * step / 8; i += 256) {
      const int r = i / (step / 8), part = i % (step / 8) * 8;
      *(uint4*)&tile_a[r * pitch + part] = *(const uint4*)&a[(long long)(row + r) * depth + k + part];
      *(uint4*)&tile_b[r * pitch + part] = *(const uint4*)&b[(long long)(column + r) * depth + k + part];
    }
    __syncthreads();
    for (int inner = 0; inner < step; inner += 16) {
      unsigned fragment_a[4][4], fragment_b[4][2];
      for (int i = 0; i < 4; ++i) {
        const __half* from = &tile_a[(warp_row + 16 * i + lane % 16) * pitch + inner + lane / 16 * 8];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(fragment_a[i][0]), "=r"(fragment_a[i][1]), "=r"(fragment_a[i][2]), "=r"(fragment_a[i][3])
                     : "r"(shared_address(from)));
      }
      for (int j = 0; j < 4; ++j) {
        const __half* from = &tile_b[(warp_column + 8 * j + lane % 8) * pitch + inner + lane / 8 % 2 * 8];
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(fragment_b[j][0]), "=r"(fragment_b[j][1])
                     : "r"(shared_address(from)));
      }
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
              : "+f"(sums[i][j][0]), "+f"(sums[i][j][1]), "+f"(sums[i][j][2]), "+f"(sums[i][j][3])
              : "r"(fragment_a[i][0]), "r"(fragment_a[i][1]), "r"(fragment_a[i][2]), "r"(fragment_a[i][3]),
                "r"(fragment_b[j][0]), "r"(fragment_b[j][1]));
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const long long r = row + warp_row + 16 * i + lane / 4;
      float* to = &c[r * columns + column + warp_column + 8 * j + lane % 4 * 2];
      *(float2*)to = make_float2(sums[i][j][0], sums[i][j][1]);
      *(float2*)(to + 8ll * columns) = make_float2(sums[i][j][2], sums[i][j][3]);
    }
  }
}

__device__ float sum_of_warp(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

__device__ float dot_of_eight(uint4 first, uint4 second) {
  const __half2* a = (const __half2*)&first;
  const __half2* b = (const __half2*)&second;
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    const float2 x = __half22float2(a[i]), y = __half22float2(b[i]);
    sum += x.x * y.x + x.y * y.y;
  }
  return sum;
}

// y = A x: a warp per row of halves.
extern "C" __global__ void matrix_vector(float* y, const __half* a, const __half* x, int columns) {
  const long long row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const uint4* from = (const uint4*)(a + row * columns);
  const uint4* vector = (const uint4*)x;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < columns / 8; i += 32) sum += dot_of_eight(from[i], vector[i]);
  sum = sum_of_warp(sum);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}

__device__ float sum_of_block(float value) {
  __shared__ float partial[32];
  value = sum_of_warp(value);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : 0;
  return sum_of_warp(value);
}

// Root mean square normalisation: a block per row.
extern "C" __global__ void rms_norm(__half* y, const __half* x, const __half* weight, int columns) {
  const __half* row = x + (long long)blockIdx.x * columns;
  float squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += __half2float(row[i]) * __half2float(row[i]);
  const float scale = rsqrtf(sum_of_block(squares) / columns + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    y[(long long)blockIdx.x * columns + i] = __float2half(__half2float(row[i]) * scale * __half2float(weight[i]));
  }
}

// Attention of one new token per sequence and head over its cache: a block of four warps, heads of 128 halves.
extern "C" __global__ void decode_attention(float* out, const __half* query, const __half* keys, const __half* values,
                                            int tokens) {
  constexpr int width = 128;
  __shared__ float weights[4], largest[4], sums[4][width];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const long long cache = (long long)blockIdx.x * tokens * width;
  const uint2 q = ((const uint2*)(query + blockIdx.x * width))[lane];
  const float2 q0 = __half22float2(((const __half2*)&q)[0]), q1 = __half22float2(((const __half2*)&q)[1]);
  float most = -1e30f, total = 0, sum[4] = {};
  for (int token = warp; token < tokens; token += 4) {
    const uint2 k = ((const uint2*)(keys + cache + (long long)token * width))[lane];
    const uint2 v = ((const uint2*)(values + cache + (long long)token * width))[lane];
    const float2 k0 = __half22float2(((const __half2*)&k)[0]), k1 = __half22float2(((const __half2*)&k)[1]);
    const float2 v0 = __half22float2(((const __half2*)&v)[0]), v1 = __half22float2(((const __half2*)&v)[1]);
    const float score = sum_of_warp(q0.x * k0.x + q0.y * k0.y + q1.x * k1.x + q1.y * k1.y) * 0.0884f;
    const float now = fmaxf(most, score), old = __expf(most - now), add = __expf(score - now);
    most = now;
    total = total * old + add;
    sum[0] = sum[0] * old + add * v0.x;
    sum[1] = sum[1] * old + add * v0.y;
    sum[2] = sum[2] * old + add * v1.x;
    sum[3] = sum[3] * old + add * v1.y;
  }
  for (int i = 0; i < 4; ++i) sums[warp][4 * lane + i] = sum[i];
  if (lane == 0) weights[warp] = total, largest[warp] = most;
  __syncthreads();
  const float all = fmaxf(fmaxf(largest[0], largest[1]), fmaxf(largest[2], largest[3]));
  float above = 0, below = 0;
  for (int i = 0; i < 4; ++i) {
    above += sums[i][threadIdx.x] * __expf(largest[i] - all);
    below += weights[i] * __expf(largest[i] - all);
  }
  out[blockIdx.x * width + threadIdx.x] = above / below;
}

// The gated activation of a feed-forward layer, then its quantisation to bytes with a scale per row: a block per row.
extern "C" __global__ void gated_quantise(signed char* out, float* scales, const __half* gate, const __half* up,
                                          int columns) {
  extern __shared__ float row[];
  __shared__ float partial[32];
  float most = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    const float g = __half2float(gate[(long long)blockIdx.x * columns + i]);
    row[i] = g / (1 + __expf(-g)) * __half2float(up[(long long)blockIdx.x * columns + i]);
    most = fmaxf(most, fabsf(row[i]));
  }
  for (int offset = 16; offset > 0; offset /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = most;
  __syncthreads();
  for (int i = 0; i < blockDim.x / 32; ++i) most = fmaxf(most, partial[i]);
  const float scale = most / 127 + 1e-20f;
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    out[(long long)blockIdx.x * columns + i] = (signed char)rintf(row[i] / scale);
  }
}
