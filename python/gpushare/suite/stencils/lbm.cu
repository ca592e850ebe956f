// SPDX-License-Identifier: Apache-2.0
// A step of the lattice Boltzmann method on the D3Q19 lattice, one cell per thread, a row of cells per block: each cell
// fetches what streams into it from 19 neighbours, then collides (BGK). Opposite ends of the box are joined.
// Products that go into sums are exact or rounded on their own (no fused multiply-add), so any IEEE machine agrees.

constexpr int kDirections = 19;
// Directions 2n - 1 and 2n are opposite.
__device__ constexpr int kX[kDirections] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
__device__ constexpr int kY[kDirections] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
__device__ constexpr int kZ[kDirections] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};

enum Kind : unsigned char { kFluid, kSolid, kDriven };

__device__ float weight(int i) { return i == 0 ? 1.0f / 3.0f : i < 7 ? 1.0f / 18.0f : 1.0f / 36.0f; }

__device__ int wrapped(int place, int extent) { return place < 0 ? extent - 1 : place == extent ? 0 : place; }

__device__ float squared(float x) { return __fmul_rn(x, x); }

// The share of a direction in equilibrium, for the flow along it; base is 1 - 3/2 of the squared speed.
__device__ float equilibrium(float mass, float along, float base) {
  return __fmul_rn(mass, __fadd_rn(base, __fmul_rn(along, __fadd_rn(3.0f, __fmul_rn(4.5f, along)))));
}

// Arrays of the shape (directions, planes, rows, columns); in driven cells the velocity is given.
extern "C" __global__ void lbm(float* __restrict__ after, const float* __restrict__ before,
                               const unsigned char* __restrict__ kinds, float rate, float drive_x, float drive_y,
                               float drive_z) {
  int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  int columns = blockDim.x, rows = gridDim.x, planes = gridDim.y;
  int cells = planes * rows * columns, cell = (z * rows + y) * columns + x;
  float shares[kDirections];
#pragma unroll
  for (int i = 0; i < kDirections; ++i) {
    int from_x = wrapped(x - kX[i], columns), from_y = wrapped(y - kY[i], rows), from_z = wrapped(z - kZ[i], planes);
    shares[i] = before[i * cells + (from_z * rows + from_y) * columns + from_x];
  }
  Kind kind = (Kind)kinds[cell];
  if (kind == kSolid) {  // everything goes back to where it came from
#pragma unroll
    for (int i = 0; i < kDirections; ++i) after[(i == 0 ? 0 : i % 2 == 1 ? i + 1 : i - 1) * cells + cell] = shares[i];
    return;
  }
  float density = 0.0f, flow_x = 0.0f, flow_y = 0.0f, flow_z = 0.0f;
#pragma unroll
  for (int i = 0; i < kDirections; ++i) {
    density += shares[i];
    flow_x += (float)kX[i] * shares[i];
    flow_y += (float)kY[i] * shares[i];
    flow_z += (float)kZ[i] * shares[i];
  }
  bool is_driven = kind == kDriven;
  flow_x = is_driven ? drive_x : flow_x / density;
  flow_y = is_driven ? drive_y : flow_y / density;
  flow_z = is_driven ? drive_z : flow_z / density;
  float square = __fadd_rn(__fadd_rn(squared(flow_x), squared(flow_y)), squared(flow_z));
  float base = __fsub_rn(1.0f, __fmul_rn(1.5f, square));
#pragma unroll
  for (int i = 0; i < kDirections; ++i) {
    float along = (float)kX[i] * flow_x + (float)kY[i] * flow_y + (float)kZ[i] * flow_z;
    float goal = equilibrium(__fmul_rn(weight(i), density), along, base);
    after[i * cells + cell] = __fadd_rn(__fmul_rn(1.0f - rate, shares[i]), __fmul_rn(rate, goal));
  }
}
