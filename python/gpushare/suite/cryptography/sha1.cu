// SPDX-License-Identifier: Apache-2.0
// SHA-1 digests of independent messages of uneven length, one per thread: 80 rounds for every 64 bytes, in registers.
// Message m begins at word word_offsets[m]; what follows it in its last word is no part of it.

constexpr int kBlockWords = 16;
constexpr int kBlockBytes = 64;
constexpr int kRounds = 80;
constexpr int kDigestWords = 5;

__device__ unsigned int rotated_left(unsigned int word, int bits) { return __funnelshift_l(word, word, bits); }

__device__ unsigned int big_endian(unsigned int word) { return __byte_perm(word, 0, 0x0123); }

// A word of the padded message: after its bytes come a one bit, zeros, and the length in bits in the last two words.
__device__ unsigned int padded_word(const unsigned int* message, int length, int index, int words) {
  int left = length - 4 * index;
  if (left >= 4) return big_endian(message[index]);
  if (left > 0) return (big_endian(message[index]) & ~(~0u >> 8 * left)) | 0x80000000u >> 8 * left;
  if (left == 0) return 0x80000000u;
  return index == words - 1 ? 8u * length : 0;
}

__device__ unsigned int choice(int round, unsigned int b, unsigned int c, unsigned int d) {
  if (round < 20) return (b & c) | (~b & d);
  if (round < 40 || round >= 60) return b ^ c ^ d;
  return (b & c) | (b & d) | (c & d);
}

__device__ unsigned int constant(int round) {
  return round < 20 ? 0x5A827999u : round < 40 ? 0x6ED9EBA1u : round < 60 ? 0x8F1BBCDCu : 0xCA62C1D6u;
}

// Adds 16 words to the digest; they are overwritten with the last words of the schedule.
__device__ void compress(unsigned int (&digest)[kDigestWords], unsigned int (&words)[kBlockWords]) {
  unsigned int a = digest[0], b = digest[1], c = digest[2], d = digest[3], e = digest[4];
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    unsigned int& word = words[round % kBlockWords];
    if (round >= kBlockWords) {
      word ^= words[(round + 2) % kBlockWords] ^ words[(round + 8) % kBlockWords] ^ words[(round + 13) % kBlockWords];
      word = rotated_left(word, 1);
    }
    unsigned int next = rotated_left(a, 5) + choice(round, b, c, d) + e + constant(round) + word;
    e = d;
    d = c;
    c = rotated_left(b, 30);
    b = a;
    a = next;
  }
  digest[0] += a;
  digest[1] += b;
  digest[2] += c;
  digest[3] += d;
  digest[4] += e;
}

extern "C" __global__ void sha1(unsigned int* __restrict__ digests, const unsigned int* __restrict__ text,
                                const int* __restrict__ word_offsets, const int* __restrict__ lengths, int messages) {
  int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= messages) return;
  const unsigned int* message = text + word_offsets[m];
  int length = lengths[m];
  int words = (length + 8) / kBlockBytes * kBlockWords + kBlockWords;
  unsigned int digest[kDigestWords] = {0x67452301u, 0xEFCDAB89u, 0x98BADCFEu, 0x10325476u, 0xC3D2E1F0u};
  for (int first = 0; first < words; first += kBlockWords) {
    unsigned int schedule[kBlockWords];
#pragma unroll
    for (int i = 0; i < kBlockWords; ++i) schedule[i] = padded_word(message, length, first + i, words);
    compress(digest, schedule);
  }
#pragma unroll
  for (int i = 0; i < kDigestWords; ++i) digests[kDigestWords * m + i] = digest[i];
}
