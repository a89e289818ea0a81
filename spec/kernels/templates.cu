// Templates, lambdas, structures, unions, bit-fields and the parts of the C++ library that devices have.

#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/optional>
#include <cuda/std/tuple>

template <class T, int N> struct Vector {
  T v[N];
  __device__ Vector operator+(const Vector &b) const {
    Vector r;
    for (int i = 0; i < N; i++)
      r.v[i] = v[i] + b.v[i];
    return r;
  }
};

template <class T, int N> __global__ void add_vectors(const Vector<T, N> *a, const Vector<T, N> *b, Vector<T, N> *o) {
  int i = threadIdx.x;
  o[i] = a[i] + b[i];
}

template <class T> __global__ void scale(T *o, T factor) {
  o[threadIdx.x] = o[threadIdx.x] * factor;
}

template <int N> struct Factorial {
  static constexpr long long value = N * Factorial<N - 1>::value;
};
template <> struct Factorial<0> {
  static constexpr long long value = 1;
};

extern "C" __global__ void constants(long long *o) {
  o[0] = Factorial<20>::value;
  o[1] = sizeof(Vector<short, 5>);
}

template <class F> __device__ void each(int n, F f) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    f(i);
}

extern "C" __global__ void lambda(int *o, int n, int k) {
  each(n, [=](int i) { o[i] = i * k - n; });
}

template <class... A> __device__ auto sum(A... a) {
  return (a + ...);
}

extern "C" __global__ void variadic(double *o) {
  o[threadIdx.x] = sum(1, 2.5f, (double)threadIdx.x, 'a', 7ull);
}

struct Fields {
  unsigned a : 3, b : 7, c : 22;
  int d : 5;
};

extern "C" __global__ void bit_fields(Fields *p, int *o) {
  int i = threadIdx.x;
  Fields x = p[i];
  x.b += x.a;
  x.d -= 1;
  p[i] = x;
  o[i] = x.c + x.d;
}

union Word {
  float f;
  unsigned u;
  unsigned char b[4];
};

extern "C" __global__ void unions(const Word *a, Word *o) {
  int i = threadIdx.x;
  Word x = a[i];
  unsigned char t = x.b[0];
  x.b[0] = x.b[3];
  x.b[3] = t;
  o[i] = x;
}

struct Particle {
  char kind;
  short charge;
  float4 position;
  double mass[3];
  long long id;
};

extern "C" __global__ void by_value(Particle p, char c, Particle q, short s, float f, double *o) {
  int i = threadIdx.x;
  o[i] = p.kind + q.charge + p.position.y + q.position.w + p.mass[i % 3] + q.id + c + s + f;
}

extern "C" __global__ void structures_in_memory(Particle *p) {
  int i = threadIdx.x;
  Particle x = p[i];
  x.kind++;
  x.charge = -x.charge;
  x.position.z += x.position.x;
  x.mass[1] = x.mass[0] * x.mass[2];
  x.id ^= 0x5555;
  p[i] = x;
}

extern "C" __global__ void library(const float *a, double *o) {
  unsigned i = threadIdx.x;
  cuda::std::array<int, 8> r;
  for (int k = 0; k < 8; k++)
    r[k] = k * i;
  auto t = cuda::std::make_tuple(1, 2.5, 'c');
  cuda::std::optional<int> q;
  if (i & 1)
    q = 5;
  cuda::std::complex<float> c(a[0], a[1]), d(a[2], a[3]);
  auto e = c * d;
  double *p = o + i * 6;
  p[0] = r[i & 7];
  p[1] = cuda::std::get<1>(t) + cuda::std::get<2>(t);
  p[2] = q.value_or(7);
  p[3] = e.real();
  p[4] = e.imag();
  p[5] = cuda::std::popcount(i) + 100 * cuda::std::countl_zero(i) + 10000 * cuda::std::bit_width(i);
}
