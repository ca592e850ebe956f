// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of 512 complex numbers in three passes of radix 8: a block of 64 threads transforms one signal,
// each thread eight numbers at a time, which move between threads through shared memory. Numbers are (real, imaginary).

constexpr int kThreads = 64;
constexpr int kRadix = 8;
constexpr int kSize = kThreads * kRadix;
constexpr int kPaddedRow = 72;  // keeps the reads of a warp in different banks

__device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
// Every rounding is said: the assembler may fuse a product and a sum in one program and not in another.
__device__ float2 operator*(float2 a, float2 b) {
  return make_float2(__fmaf_rn(-a.y, b.y, __fmul_rn(a.x, b.x)), __fmaf_rn(a.y, b.x, __fmul_rn(a.x, b.y)));
}
__device__ float2 times_minus_i(float2 a) { return make_float2(a.y, -a.x); }

__device__ void transform4(float2& a, float2& b, float2& c, float2& d) {
  float2 even_sum = a + c, even_difference = a - c, odd_sum = b + d, odd_difference = times_minus_i(b - d);
  a = even_sum + odd_sum;
  b = even_difference + odd_difference;
  c = even_sum - odd_sum;
  d = even_difference - odd_difference;
}

// In place and in order, by decimation in frequency.
__device__ void transform8(float2* v) {
  constexpr float kHalfRoot = 0.70710678f;
  float2 sums[4], differences[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    sums[k] = v[k] + v[k + 4];
    differences[k] = v[k] - v[k + 4];
  }
  differences[1] = differences[1] * make_float2(kHalfRoot, -kHalfRoot);
  differences[2] = times_minus_i(differences[2]);
  differences[3] = differences[3] * make_float2(-kHalfRoot, -kHalfRoot);
  transform4(sums[0], sums[1], sums[2], sums[3]);
  transform4(differences[0], differences[1], differences[2], differences[3]);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    v[2 * k] = sums[k];
    v[2 * k + 1] = differences[k];
  }
}

// Multiplies v[k] by exp(-2 pi i k turn).
__device__ void twiddle(float2* v, float turn) {
  float2 root, power;
  sincospif(-2.0f * turn, &root.y, &root.x);
  power = root;
#pragma unroll
  for (int k = 1; k < kRadix; ++k) {
    v[k] = v[k] * power;
    power = power * root;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    fft(float* __restrict__ spectra, const float* __restrict__ signals) {
  __shared__ float2 exchanged[kRadix * kPaddedRow];
  int thread = threadIdx.x, high = thread / kRadix, low = thread % kRadix;
  const float2* signal = reinterpret_cast<const float2*>(signals) + (size_t)blockIdx.x * kSize;
  float2* spectrum = reinterpret_cast<float2*>(spectra) + (size_t)blockIdx.x * kSize;
  float2 v[kRadix];
#pragma unroll
  for (int k = 0; k < kRadix; ++k) v[k] = signal[thread + k * kThreads];
  transform8(v);
  twiddle(v, (float)thread / kSize);
#pragma unroll
  for (int k = 0; k < kRadix; ++k) exchanged[k * kPaddedRow + thread] = v[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kRadix; ++k) v[k] = exchanged[high * kPaddedRow + k * kRadix + low];
  transform8(v);
  twiddle(v, (float)low / kThreads);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kRadix; ++k) exchanged[k * kPaddedRow + high * (kRadix + 1) + low] = v[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kRadix; ++k) v[k] = exchanged[high * kPaddedRow + low * (kRadix + 1) + k];
  transform8(v);
#pragma unroll
  for (int k = 0; k < kRadix; ++k) spectrum[thread + k * kThreads] = v[k];
}
