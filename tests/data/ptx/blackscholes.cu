// SPDX-License-Identifier: Apache-2.0
__device__ static float normal_distribution(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  const float tail = 0.39894228f * expf(-0.5f * d * d) *
                     (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void blackscholes(const float* price, const float* strike, const float* years, float* call,
                                        float* put, float rate, float volatility, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float root = sqrtf(years[i]);
    const float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
    const float d2 = d1 - volatility * root;
    const float discounted = strike[i] * expf(-rate * years[i]);
    call[i] = price[i] * normal_distribution(d1) - discounted * normal_distribution(d2);
    put[i] = discounted * (1.0f - normal_distribution(d2)) - price[i] * (1.0f - normal_distribution(d1));
  }
}
