// SPDX-License-Identifier: Apache-2.0
// Searches every key of a space for MD5 digests: a thread hashes the keys that differ in their first character alone.
// Whoever meets a digest writes the number of the key; nobody writes for a digest without one.

constexpr int kRounds = 64;
constexpr int kMessageWords = 16;
constexpr unsigned int kFirstCharacter = '0';

// The fractions of abs(sin(i + 1)), times 2^32.
constexpr unsigned int kSines[kRounds] = {
    0xD76AA478u, 0xE8C7B756u, 0x242070DBu, 0xC1BDCEEEu, 0xF57C0FAFu, 0x4787C62Au, 0xA8304613u, 0xFD469501u,
    0x698098D8u, 0x8B44F7AFu, 0xFFFF5BB1u, 0x895CD7BEu, 0x6B901122u, 0xFD987193u, 0xA679438Eu, 0x49B40821u,
    0xF61E2562u, 0xC040B340u, 0x265E5A51u, 0xE9B6C7AAu, 0xD62F105Du, 0x02441453u, 0xD8A1E681u, 0xE7D3FBC8u,
    0x21E1CDE6u, 0xC33707D6u, 0xF4D50D87u, 0x455A14EDu, 0xA9E3E905u, 0xFCEFA3F8u, 0x676F02D9u, 0x8D2A4C8Au,
    0xFFFA3942u, 0x8771F681u, 0x6D9D6122u, 0xFDE5380Cu, 0xA4BEEA44u, 0x4BDECFA9u, 0xF6BB4B60u, 0xBEBFBC70u,
    0x289B7EC6u, 0xEAA127FAu, 0xD4EF3085u, 0x04881D05u, 0xD9D4D039u, 0xE6DB99E5u, 0x1FA27CF8u, 0xC4AC5665u,
    0xF4292244u, 0x432AFF97u, 0xAB9423A7u, 0xFC93A039u, 0x655B59C3u, 0x8F0CCC92u, 0xFFEFF47Du, 0x85845DD1u,
    0x6FA87E4Fu, 0xFE2CE6E0u, 0xA3014314u, 0x4E0811A1u, 0xF7537E82u, 0xBD3AF235u, 0x2AD7D2BBu, 0xEB86D391u,
};
constexpr int kRotations[kRounds / 4] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

__device__ unsigned int rotated_left(unsigned int word, int bits) { return __funnelshift_l(word, word, bits); }

__device__ unsigned int choice(int round, unsigned int b, unsigned int c, unsigned int d) {
  if (round < 16) return (b & c) | (~b & d);
  if (round < 32) return (d & b) | (~d & c);
  if (round < 48) return b ^ c ^ d;
  return c ^ (b | ~d);
}

__device__ int word_of(int round) {
  int factor = round < 16 ? 1 : round < 32 ? 5 : round < 48 ? 3 : 7;
  int start = round < 16 ? 0 : round < 32 ? 1 : round < 48 ? 5 : 0;
  return (factor * round + start) % kMessageWords;
}

// The digest of a key of at most 7 characters, behind which its end is marked.
__device__ uint4 digest_of(unsigned long long marked_key, int length) {
  unsigned int message[kMessageWords] = {(unsigned int)marked_key, (unsigned int)(marked_key >> 32)};
  message[14] = 8 * length;
  const uint4 start = make_uint4(0x67452301u, 0xEFCDAB89u, 0x98BADCFEu, 0x10325476u);
  unsigned int a = start.x, b = start.y, c = start.z, d = start.w;
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    unsigned int sum = a + choice(round, b, c, d) + kSines[round] + message[word_of(round)];
    a = d;
    d = c;
    c = b;
    b += rotated_left(sum, kRotations[round / 16 * 4 + round % 4]);
  }
  return make_uint4(start.x + a, start.y + b, start.z + c, start.w + d);
}

// The keys have `length` characters out of `characters`; the first one counts fastest.
extern "C" __global__ void md5(int* __restrict__ matches, const uint4* __restrict__ digests, int count, int length,
                               int characters, int endings) {
  int ending = blockIdx.x * blockDim.x + threadIdx.x;
  if (ending >= endings) return;
  unsigned long long rest = 0x80ull << 8 * length;
  for (int place = 1, number = ending; place < length; ++place, number /= characters) {
    rest |= (unsigned long long)(kFirstCharacter + number % characters) << 8 * place;
  }
  for (int first = 0; first < characters; ++first) {
    uint4 found = digest_of(rest | (kFirstCharacter + first), length);
    for (int i = 0; i < count; ++i) {
      uint4 wanted = digests[i];
      if (found.x == wanted.x && found.y == wanted.y && found.z == wanted.z && found.w == wanted.w) {
        matches[i] = ending * characters + first;
      }
    }
  }
}
