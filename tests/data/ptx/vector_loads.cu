// SPDX-License-Identifier: Apache-2.0
// Four floats at a time from an array that is declared as one of floats: right where it begins at a multiple of 16.
extern "C" __global__ void vector_loads(float const* in, float* out, int count) {
  __shared__ float tile[256];
  const int first = blockIdx.x * 256;
  for (int i = threadIdx.x; i < 256; i += blockDim.x) tile[i] = first + i < count ? in[first + i] : 0;
  __syncthreads();
  const float4 four = reinterpret_cast<float4*>(tile)[threadIdx.x];
  out[blockIdx.x * blockDim.x + threadIdx.x] = four.x + four.y * 2 + four.z * 4 + four.w * 8;
}
