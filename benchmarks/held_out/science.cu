// SPDX-License-Identifier: Apache-2.0
// Kernels as scientific programs have them. Nothing in gpushare was tuned on these.

// One step of the D2Q9 lattice Boltzmann method: streaming and collision, on a periodic square.
extern "C" __global__ void lattice_step(float* after, const float* before, int side) {
  const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  const float weights[9] = {4 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 9.f, 1 / 36.f, 1 / 36.f, 1 / 36.f, 1 / 36.f};
  const int cell = blockIdx.x * blockDim.x + threadIdx.x, x = cell % side, y = cell / side;
  const long long plane = (long long)side * side;
  float f[9], density = 0, ux = 0, uy = 0;
#pragma unroll
  for (int i = 0; i < 9; ++i) {
    const int from_x = (x - cx[i] + side) % side, from_y = (y - cy[i] + side) % side;
    f[i] = before[i * plane + (long long)from_y * side + from_x] + 0.1f;
    density += f[i];
    ux += cx[i] * f[i];
    uy += cy[i] * f[i];
  }
  ux /= density;
  uy /= density;
#pragma unroll
  for (int i = 0; i < 9; ++i) {
    const float along = 3 * (cx[i] * ux + cy[i] * uy);
    const float rest = weights[i] * density * (1 + along + along * along / 2 - 1.5f * (ux * ux + uy * uy));
    after[i * plane + cell] = f[i] + 0.6f * (rest - f[i]);
  }
}

// Cholesky factors of many matrices of 64 x 64 in shared memory: a block per matrix.
extern "C" __global__ void batched_cholesky(float* factors, const float* matrices) {
  constexpr int side = 64, pitch = side + 1;
  __shared__ float m[side * pitch];
  const long long first = (long long)blockIdx.x * side * side;
  for (int i = threadIdx.x; i < side * side; i += blockDim.x) {
    m[i / side * pitch + i % side] = matrices[first + i] + (i / side == i % side ? 64.f : 0.f);
  }
  __syncthreads();
  for (int k = 0; k < side; ++k) {
    if (threadIdx.x == 0) m[k * pitch + k] = sqrtf(m[k * pitch + k]);
    __syncthreads();
    for (int i = k + 1 + threadIdx.x; i < side; i += blockDim.x) m[i * pitch + k] /= m[k * pitch + k];
    __syncthreads();
    for (int i = threadIdx.x; i < (side - k - 1) * (side - k - 1); i += blockDim.x) {
      const int row = k + 1 + i / (side - k - 1), column = k + 1 + i % (side - k - 1);
      if (column <= row) m[row * pitch + column] -= m[row * pitch + k] * m[column * pitch + k];
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < side * side; i += blockDim.x) {
    factors[first + i] = i % side <= i / side ? m[i / side * pitch + i % side] : 0;
  }
}

// The structure factor of atoms at many wave vectors, one a thread: sines and cosines.
extern "C" __global__ void structure_factor(float2* out, const float4* atoms, int count, float scale) {
  const int vector = blockIdx.x * blockDim.x + threadIdx.x;
  const float kx = vector % 64 * scale, ky = vector / 64 % 64 * scale, kz = vector / 4096 * scale;
  float real = 0, imaginary = 0;
  for (int i = 0; i < count; ++i) {
    const float4 atom = atoms[i];
    float sine, cosine;
    __sincosf(kx * atom.x + ky * atom.y + kz * atom.z, &sine, &cosine);
    real += atom.w * cosine;
    imaginary += atom.w * sine;
  }
  out[vector] = make_float2(real, imaginary);
}

__device__ unsigned mixed(unsigned value) {
  value = (value ^ (value >> 16)) * 0x7feb352du;
  value = (value ^ (value >> 15)) * 0x846ca68bu;
  return value ^ (value >> 16);
}

// Chains of dependent reads at random places of a table: eight a thread. The mask is the table's size minus one.
extern "C" __global__ void hash_probe(unsigned* out, const unsigned* table, unsigned mask) {
  unsigned found = mixed(blockIdx.x * blockDim.x + threadIdx.x), sum = 0;
  for (int i = 0; i < 8; ++i) {
    found = table[mixed(found + i) & mask];
    sum += found;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Particles through a slab until they are absorbed or leave it: branches that differ within a warp.
extern "C" __global__ void particle_transport(unsigned* left, float absorption, float thickness, int histories) {
  unsigned seed = mixed(blockIdx.x * blockDim.x + threadIdx.x) | 1, escaped = 0;
  for (int history = 0; history < histories; ++history) {
    float depth = 0, direction = 1;
    for (;;) {
      seed = seed * 1664525u + 1013904223u;
      depth -= direction * __logf((seed >> 8) * 0x1p-24f + 1e-9f);
      if (depth < 0) break;
      if (depth > thickness) {
        ++escaped;
        break;
      }
      seed = seed * 1664525u + 1013904223u;
      if ((seed >> 8) * 0x1p-24f < absorption) break;
      seed = seed * 1664525u + 1013904223u;
      direction = (seed >> 8) * 0x1p-23f - 1;
    }
  }
  left[blockIdx.x * blockDim.x + threadIdx.x] = escaped;
}
