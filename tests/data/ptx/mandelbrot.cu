// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void mandelbrot(unsigned char* image, int width, int height, int most) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const double cr = -2.0 + 3.0 * x / width, ci = -1.5 + 3.0 * y / height;
  double r = 0, i = 0;
  int steps = 0;
  while (steps < most && r * r + i * i < 4.0) {
    const double next = r * r - i * i + cr;
    i = 2 * r * i + ci;
    r = next;
    ++steps;
  }
  image[y * width + x] = steps;
}
