// SPDX-License-Identifier: Apache-2.0
// European calls by a binomial tree, one option per block: the values at expiry, and from them those of the step
// before, and so on to today. Two steps are in shared memory, from which and to which the block computes by turns.
// Additions and products are rounded on their own (no fused multiply-add), so that any IEEE machine goes back the same
// way.

constexpr int kMostSteps = 2048;

extern "C" __global__ void binomial_options(float* __restrict__ prices, const float* __restrict__ spots,
                                            const float* __restrict__ strikes, const float* __restrict__ log_moves,
                                            const float* __restrict__ up_weights,
                                            const float* __restrict__ down_weights, int steps) {
  __shared__ float values[2][kMostSteps + 1];
  int option = blockIdx.x;
  float spot = spots[option], strike = strikes[option], log_move = log_moves[option];
  float up_weight = up_weights[option], down_weight = down_weights[option];
  // Node i of the last step is reached by i moves up, the others down.
  for (int i = threadIdx.x; i <= steps; i += blockDim.x)
    values[steps % 2][i] = fmaxf(spot * expf(log_move * (float)(2 * i - steps)) - strike, 0.0f);
  __syncthreads();
  for (int step = steps - 1; step >= 0; --step) {
    const float* later = values[(step + 1) % 2];
    float* now = values[step % 2];
    for (int i = threadIdx.x; i <= step; i += blockDim.x)
      now[i] = __fadd_rn(__fmul_rn(up_weight, later[i + 1]), __fmul_rn(down_weight, later[i]));
    __syncthreads();
  }
  if (threadIdx.x == 0) prices[option] = values[0][0];
}
