// SPDX-License-Identifier: Apache-2.0
// All pairs; a tile of bodies in shared memory, vector loads.
extern "C" __global__ void nbody(const float4* bodies, float4* acceleration, int n) {
  extern __shared__ float4 tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 self = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float3 sum = make_float3(0, 0, 0);
  for (int start = 0; start < n; start += blockDim.x) {
    const int j = start + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int k = 0; k < blockDim.x; ++k) {
      const float4 other = tile[k];
      const float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      const float factor = other.w * inverse * inverse * inverse;
      sum.x += factor * dx;
      sum.y += factor * dy;
      sum.z += factor * dz;
    }
    __syncthreads();
  }
  if (i < n) acceleration[i] = make_float4(sum.x, sum.y, sum.z, 0);
}
