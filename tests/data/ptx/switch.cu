// SPDX-License-Identifier: Apache-2.0
// Enough cases for a jump table.
extern "C" __global__ void switch_cases(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = in[i];
  switch (x) {
    case 0: x = i * 3; break;
    case 1: x = i ^ 0x55; break;
    case 2: x = __popc(i); break;
    case 3: x = __clz(i); break;
    case 4: x = i / 7; break;
    case 5: x = i % 7; break;
    case 6: x = __brev(i); break;
    case 7: x = i * i * i; break;
    case 8: x = min(i, 17); break;
    case 9: x = -i; break;
    default: x = 12345;
  }
  out[i] = x;
}
