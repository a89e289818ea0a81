// Control flow: loops of different length in neighbouring threads, jump tables, early exits, labels.

extern "C" __global__ void collatz(const unsigned *a, unsigned *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned long long x = a[i];
  unsigned steps = 0;
  while (x != 1) {
    x = x & 1 ? 3 * x + 1 : x >> 1;
    steps++;
  }
  o[i] = steps;
}

extern "C" __global__ void jump_table(const int *a, int *o) {
  int i = threadIdx.x, r;
  switch (a[i]) {
  case 0: r = a[i + 1] + 7; break;
  case 1: r = i * 3; break;
  case 2: r = i ^ 0x55; break;
  case 3: r = i / 3; break;
  case 4: r = a[i + 2] % 7; break;
  case 5: r = -i; break;
  case 6: r = i << 3; // falls through
  case 7: r = i + a[i + 1]; break;
  case 8: r = __popc(i); break;
  case 9: r = i * i * i; break;
  case 10: r = a[i + 3] * 11; break;
  case 11: r = ~i; break;
  default: r = 99;
  }
  o[i] = r;
}

// The compiler turns a dense switch into selections where it can; this one it must not.
extern "C" __global__ void branch_table(const int *a, int *o) {
  int i = threadIdx.x, r = 0;
  asm volatile("{\n"
               "  .reg .u32 n;\n"
               "  mov.u32 n, %1;\n"
               "  targets: .branchtargets L0, L1, L2, L3;\n"
               "  brx.idx n, targets;\n"
               "  L0: mov.s32 %0, 100; bra done;\n"
               "  L1: mul.lo.s32 %0, %2, 3;\n"
               "  L2: add.s32 %0, %0, 5; bra done;\n"
               "  L3: neg.s32 %0, %2;\n"
               "  done:\n"
               "}"
               : "+r"(r)
               : "r"(a[i]), "r"(i));
  o[i] = r;
}

extern "C" __global__ void nested_loops(int *o, int n) {
  int i = threadIdx.x, s = 0;
  for (int a = 0; a < i; a++)
    for (int b = a; b < n; b++) {
      if ((a ^ b) & 1)
        continue;
      if (b > i + 3)
        break;
      s += a * b;
      do {
        s++;
      } while (s % 5);
    }
  o[i] = s;
}

extern "C" __global__ void early_exits(int *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  if (i % 3 == 0)
    return;
  if (i % 5 == 0) {
    o[i] = -1;
    return;
  }
  for (int k = 0; k < i; k++)
    if (k * k > i) {
      o[i] = k;
      return;
    }
  o[i] = -2;
}

extern "C" __global__ void labels(int *o) {
  int i = threadIdx.x + 1, s = 0;
again:
  s += i;
  if (s < 100)
    goto odd;
  goto done;
odd:
  if (s & 1) {
    s += 3;
    goto again;
  }
  s *= 2;
  if (s < 77)
    goto again;
done:
  o[i - 1] = s;
}

extern "C" __global__ void short_circuit(const int *a, int *o, int n) {
  int i = threadIdx.x, k = a[i];
  // An index that is out of bounds must not be followed.
  o[i] = (k >= 0 && k < n && a[k] > 0) || (k < 0 && k > -n && a[-k] < 0) ? 1 : 2;
}

extern "C" __global__ void mandelbrot(int *o, int width, int height, int limit) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  double cr = -2.0 + 3.0 * x / width, ci = -1.0 + 2.0 * y / height, r = 0, i = 0;
  int n = 0;
  while (n < limit && __dadd_rn(__dmul_rn(r, r), __dmul_rn(i, i)) < 4.0) {
    double t = __dadd_rn(__dsub_rn(__dmul_rn(r, r), __dmul_rn(i, i)), cr);
    i = __dadd_rn(__dmul_rn(2.0, __dmul_rn(r, i)), ci);
    r = t;
    n++;
  }
  o[y * width + x] = n;
}

extern "C" __global__ void binary_search(const int *sorted, int n, const int *keys, int *o) {
  int i = threadIdx.x, low = 0, high = n, key = keys[i];
  while (low < high) {
    int middle = (low + high) / 2;
    if (sorted[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  o[i] = low;
}

extern "C" __global__ void greatest_divisor(const unsigned *a, const unsigned *b, unsigned *o) {
  int i = threadIdx.x;
  unsigned x = a[i], y = b[i];
  while (y) {
    unsigned t = x % y;
    x = y;
    y = t;
  }
  o[i] = x;
}

// After each branch the warp is whole again: the votes say who came along.
extern "C" __global__ void reconvergence(unsigned *o) {
  int i = threadIdx.x;
  unsigned s = 0;
  for (int k = 0; k < 4; k++) {
    if (i >> k & 1)
      s += i << k;
    else
      s ^= k;
    __syncwarp();
    s += __popc(__ballot_sync(~0u, i >> k & 1));
  }
  o[i] = s;
}

extern "C" __global__ void grid_shape(int *o) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
      z = blockIdx.z * blockDim.z + threadIdx.z;
  int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  o[(z * height + y) * width + x] = x + 100 * y + 10000 * z;
}

extern "C" __global__ void grid_stride(const float *x, float *y, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = a * x[i] + y[i];
}
