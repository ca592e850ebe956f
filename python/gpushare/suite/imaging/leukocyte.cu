// SPDX-License-Identifier: Apache-2.0
// Where leukocytes may be in a frame: for each pixel the best score of circles around it, that is the squared mean of
// the gradient along their radii over its variance. A row of the frame per block, a pixel per thread.
// Every operation is rounded on its own (no fused multiply-add), so that any IEEE machine finds the same scores.

constexpr int kPoints = 150;  // on each circle

// The frame is larger than the scores by the margin, on all sides. Steps lead to the points of the circles.
extern "C" __global__ void leukocyte(float* __restrict__ scores, const float* __restrict__ gradient_x,
                                     const float* __restrict__ gradient_y, const float* __restrict__ cosines,
                                     const float* __restrict__ sines, const int* __restrict__ steps_x,
                                     const int* __restrict__ steps_y, int circles, int margin, int columns) {
  int column = threadIdx.x, row = blockIdx.x;
  if (column >= columns) return;
  int pitch = columns + 2 * margin;
  float best = 0.0f;
  for (int circle = 0; circle < circles; ++circle) {
    float mean = 0.0f, squares = 0.0f;  // of the distances from the mean
    for (int i = 0; i < kPoints; ++i) {
      int x = column + margin + steps_x[circle * kPoints + i], y = row + margin + steps_y[circle * kPoints + i];
      int place = y * pitch + x;
      float outward = __fadd_rn(__fmul_rn(gradient_x[place], cosines[i]), __fmul_rn(gradient_y[place], sines[i]));
      float distance = outward - mean;
      mean = mean + distance / (float)(i + 1);
      squares = __fadd_rn(squares, __fmul_rn(distance, outward - mean));
    }
    float score = __fmul_rn(mean, mean) / (squares / (float)(kPoints - 1));
    if (score > best) best = score;  // not where the gradient is zero all around: that score is no number
  }
  scores[row * columns + column] = best;
}
