// SPDX-License-Identifier: Apache-2.0
// Feed-forward layer of a neural network for a batch of samples, one neuron of one sample per thread. A warp has a
// sample; the threads beyond the last neuron return at once. Weights are stored with the neurons next to each other.

extern "C" __global__ void neural_net(float* __restrict__ activations, const float* __restrict__ weights,
                                      const float* __restrict__ biases, const float* __restrict__ inputs, int samples,
                                      int input_count, int neurons) {
  int neuron = threadIdx.x, sample = blockIdx.x * blockDim.y + threadIdx.y;
  if (neuron >= neurons || sample >= samples) return;
  const float* sample_inputs = inputs + (size_t)sample * input_count;
  float sum = biases[neuron];
  for (int i = 0; i < input_count; ++i) sum += weights[i * neurons + neuron] * sample_inputs[i];
  activations[sample * neurons + neuron] = 1.0f / (1.0f + expf(-sum));
}
