// SPDX-License-Identifier: Apache-2.0
// Ray tracing of spheres above a chequered floor, one pixel per thread: hard shadows, and reflections in a loop.
// Products that go into sums are rounded on their own (no fused multiply-add), so that any IEEE machine sees the same.

constexpr float kFar = 1000.0f;  // the floor ends there
constexpr float kStart = 1e-2f;  // rays that leave a surface start above it
constexpr int kFloor = -1;       // in place of the number of a sphere
constexpr int kNothing = -2;

struct Ray {
  float3 origin, direction;
};

struct Hit {
  float distance;
  int object;
};

__device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ float3 scaled(float3 a, float s) {
  return make_float3(__fmul_rn(a.x, s), __fmul_rn(a.y, s), __fmul_rn(a.z, s));
}
__device__ float dot(float3 a, float3 b) {
  return __fadd_rn(__fadd_rn(__fmul_rn(a.x, b.x), __fmul_rn(a.y, b.y)), __fmul_rn(a.z, b.z));
}
__device__ float3 normalized(float3 a) { return scaled(a, 1.0f / sqrtf(dot(a, a))); }
__device__ float3 point_at(Ray ray, float distance) { return ray.origin + scaled(ray.direction, distance); }
__device__ float3 reflected(float3 direction, float3 normal) {
  return direction - scaled(normal, 2.0f * dot(direction, normal));
}

// The nearest thing that the ray meets. A sphere is its centre and its radius.
__device__ Hit nearest_hit(Ray ray, const float4* __restrict__ spheres, int count) {
  Hit hit = {kFar, kNothing};
  float to_floor = ray.direction.y < 0.0f ? -ray.origin.y / ray.direction.y : kFar;
  if (to_floor < kFar) hit = {to_floor, kFloor};
  for (int i = 0; i < count; ++i) {
    float4 sphere = spheres[i];
    float3 to_centre = make_float3(sphere.x, sphere.y, sphere.z) - ray.origin;
    float middle = dot(to_centre, ray.direction);
    float apart = __fsub_rn(dot(to_centre, to_centre), __fmul_rn(middle, middle));
    float half_chord = __fsub_rn(__fmul_rn(sphere.w, sphere.w), apart);
    if (half_chord <= 0.0f) continue;
    float distance = middle - sqrtf(half_chord);
    if (distance > kStart && distance < hit.distance) hit = {distance, i};
  }
  return hit;
}

__device__ float3 sky(float3 direction) {
  float height = fmaxf(direction.y, 0.0f);
  return make_float3(0.7f, 0.8f, 0.9f) - scaled(make_float3(0.5f, 0.4f, 0.1f), height);
}

__device__ float3 floor_colour(float3 point) {
  int square = (int)floorf(point.x) + (int)floorf(point.z);
  return square & 1 ? make_float3(0.9f, 0.9f, 0.9f) : make_float3(0.2f, 0.2f, 0.2f);
}

__device__ float to_the_sixteenth(float x) {
  for (int i = 0; i < 4; ++i) x = x * x;
  return x;
}

__device__ unsigned int packed(float3 colour) {
  unsigned int red = (unsigned int)__fmul_rn(fminf(colour.x, 1.0f), 255.0f);
  unsigned int green = (unsigned int)__fmul_rn(fminf(colour.y, 1.0f), 255.0f);
  unsigned int blue = (unsigned int)__fmul_rn(fminf(colour.z, 1.0f), 255.0f);
  return red | green << 8 | blue << 16 | 255u << 24;
}

// A colour is red, green, blue and the share of light that the sphere reflects; the floor's share is a parameter.
extern "C" __global__ void ray_trace(unsigned int* __restrict__ pixels, const float4* __restrict__ spheres,
                                     const float4* __restrict__ colours, int count, float light_x, float light_y,
                                     float light_z, float floor_mirror, int bounces, int rows, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  float3 to_light = make_float3(light_x, light_y, light_z);
  float x = (float)(2 * column - columns) / (float)rows, y = (float)(rows - 2 * row) / (float)rows;
  Ray ray = {make_float3(0.0f, 2.0f, -6.0f), normalized(make_float3(x, y - 0.25f, 1.75f))};
  float3 colour = make_float3(0.0f, 0.0f, 0.0f);
  float share = 1.0f;  // of what the ray still finds in the colour of the pixel
  for (int bounce = 0; bounce <= bounces; ++bounce) {
    Hit hit = nearest_hit(ray, spheres, count);
    if (hit.object == kNothing) {
      colour = colour + scaled(sky(ray.direction), share);
      break;
    }
    float3 point = point_at(ray, hit.distance), normal = make_float3(0.0f, 1.0f, 0.0f), own;
    float mirror = floor_mirror;
    if (hit.object == kFloor) {
      own = floor_colour(point);
    } else {
      float4 sphere = spheres[hit.object], surface = colours[hit.object];
      normal = normalized(point - make_float3(sphere.x, sphere.y, sphere.z));
      own = make_float3(surface.x, surface.y, surface.z);
      mirror = surface.w;
    }
    float3 direction = reflected(ray.direction, normal);
    ray = {point + scaled(normal, kStart), to_light};
    float bright = 0.15f, shine = 0.0f;  // in the shade
    if (dot(normal, to_light) > 0.0f && nearest_hit(ray, spheres, count).object == kNothing) {
      bright = __fadd_rn(0.15f, __fmul_rn(0.85f, dot(normal, to_light)));
      shine = to_the_sixteenth(fmaxf(dot(direction, to_light), 0.0f));
    }
    float3 light = scaled(own, bright) + make_float3(shine, shine, shine);
    colour = colour + scaled(light, __fmul_rn(share, 1.0f - mirror));
    share = __fmul_rn(share, mirror);
    ray.direction = normalized(direction);
  }
  pixels[(size_t)row * columns + column] = packed(colour);
}
