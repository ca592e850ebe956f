// SPDX-License-Identifier: Apache-2.0
// Black-Scholes prices of European options, one per thread; the normal distribution by Abramowitz and Stegun 26.2.17.

__device__ float normal_cdf(float d) {
  float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  float polynomial =
      k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float tail = 0.39894228040143267794f * expf(-0.5f * d * d) * polynomial;
  return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(float* __restrict__ calls, float* __restrict__ puts,
                                         const float* __restrict__ spots, const float* __restrict__ strikes,
                                         const float* __restrict__ years, float rate, float volatility, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float spot = spots[i], strike = strikes[i], time = years[i];
  float deviation = volatility * sqrtf(time);
  float d1 = (logf(spot / strike) + (rate + 0.5f * volatility * volatility) * time) / deviation;
  float cdf1 = normal_cdf(d1), cdf2 = normal_cdf(d1 - deviation);
  float discounted = strike * expf(-rate * time);
  calls[i] = spot * cdf1 - discounted * cdf2;
  puts[i] = discounted * (1.0f - cdf2) - spot * (1.0f - cdf1);
}
