// CUB's block-wide primitives.

#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>

struct Less {
  template <class T> __device__ bool operator()(const T &a, const T &b) const {
    return a < b;
  }
};
struct Greatest {
  template <class T> __device__ T operator()(const T &a, const T &b) const {
    return a < b ? b : a;
  }
};

extern "C" __global__ void reduced(const int *a, const double *d, int *o, double *p) {
  using Sum = cub::BlockReduce<int, 128>;
  using Raking = cub::BlockReduce<double, 128, cub::BLOCK_REDUCE_RAKING>;
  __shared__ typename Sum::TempStorage s;
  __shared__ typename Raking::TempStorage t;
  int i = threadIdx.x;
  int sum = Sum(s).Sum(a[i]);
  __syncthreads();
  int greatest = Sum(s).Reduce(a[i], Greatest());
  __syncthreads();
  int some = Sum(s).Sum(a[i], 77);
  double real = Raking(t).Sum(d[i]);
  if (i == 0) {
    o[0] = sum;
    o[1] = greatest;
    o[2] = some;
    p[0] = real;
  }
}

extern "C" __global__ void scanned(const int *a, int *o, int *p, int *total) {
  using Scan = cub::BlockScan<int, 128>;
  using Raking = cub::BlockScan<int, 128, cub::BLOCK_SCAN_RAKING>;
  __shared__ typename Scan::TempStorage s;
  __shared__ typename Raking::TempStorage t;
  int i = threadIdx.x, x[4], y, sum;
  for (int k = 0; k < 4; k++)
    x[k] = a[i * 4 + k];
  Scan(s).ExclusiveSum(x, x, sum);
  for (int k = 0; k < 4; k++)
    o[i * 4 + k] = x[k];
  Raking(t).InclusiveScan(a[i], y, Greatest());
  p[i] = y;
  if (i == 0)
    total[0] = sum;
}

extern "C" __global__ void radix_sorted(const int *a, int *keys, int *values, const unsigned long long *b,
                                        unsigned long long *p, const float *f, float *q) {
  using Pairs = cub::BlockRadixSort<int, 128, 4, int>;
  using Wide = cub::BlockRadixSort<unsigned long long, 128, 2>;
  using Real = cub::BlockRadixSort<float, 128, 3>;
  __shared__ union Storage {
    typename Pairs::TempStorage pairs;
    typename Wide::TempStorage wide;
    typename Real::TempStorage real;
  } s;
  int i = threadIdx.x, k[4], v[4];
  for (int j = 0; j < 4; j++) {
    k[j] = a[i * 4 + j];
    v[j] = i * 4 + j;
  }
  Pairs(s.pairs).Sort(k, v);
  for (int j = 0; j < 4; j++) {
    keys[i * 4 + j] = k[j];
    values[i * 4 + j] = v[j];
  }
  __syncthreads();
  unsigned long long w[2] = {b[i * 2], b[i * 2 + 1]};
  Wide(s.wide).SortDescending(w);
  p[i * 2] = w[0];
  p[i * 2 + 1] = w[1];
  __syncthreads();
  float r[3];
  for (int j = 0; j < 3; j++)
    r[j] = f[i * 3 + j];
  Real(s.real).SortBlockedToStriped(r);
  for (int j = 0; j < 3; j++)
    q[i + j * 128] = r[j];
}

extern "C" __global__ void moved(const int *a, int *o) {
  using Transposed = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using Vector = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_VECTORIZE>;
  using Warp = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
  using Exchange = cub::BlockExchange<int, 128, 4>;
  using Shuffle = cub::BlockShuffle<int, 128>;
  __shared__ union Storage {
    typename Transposed::TempStorage transposed;
    typename Vector::TempStorage vector;
    typename Warp::TempStorage warp;
    typename Store::TempStorage store;
    typename Exchange::TempStorage exchange;
    typename Shuffle::TempStorage shuffle;
  } s;
  int i = threadIdx.x, x[4], y;
  Transposed(s.transposed).Load(a, x);
  __syncthreads();
  Exchange(s.exchange).BlockedToStriped(x, x);
  for (int k = 0; k < 4; k++)
    o[i * 4 + k] = x[k];
  __syncthreads();
  Warp(s.warp).Load(a, x, 500, -1);
  __syncthreads();
  Store(s.store).Store(o + 512, x);
  __syncthreads();
  Vector(s.vector).Load(a, x);
  o[1024 + i] = x[0] + x[3];
  __syncthreads();
  Shuffle(s.shuffle).Offset(a[i], y, 1);
  o[1152 + i] = i < 127 ? y : 0;
}

extern "C" __global__ void compared(const int *a, int *sorted, int *heads, int *differences) {
  using Sort = cub::BlockMergeSort<int, 128, 4>;
  using Flags = cub::BlockDiscontinuity<int, 128>;
  using Difference = cub::BlockAdjacentDifference<int, 128>;
  __shared__ union Storage {
    typename Sort::TempStorage sort;
    typename Flags::TempStorage flags;
    typename Difference::TempStorage difference;
  } s;
  int i = threadIdx.x, x[4], f[4], d[4];
  for (int k = 0; k < 4; k++)
    x[k] = a[i * 4 + k];
  Sort(s.sort).Sort(x, Less());
  __syncthreads();
  Flags(s.flags).FlagHeads(f, x, cuda::std::not_equal_to<int>());
  __syncthreads();
  Difference(s.difference).SubtractLeft(x, d, cuda::std::minus<int>());
  for (int k = 0; k < 4; k++) {
    sorted[i * 4 + k] = x[k];
    heads[i * 4 + k] = f[k];
    differences[i * 4 + k] = d[k];
  }
}

extern "C" __global__ void counted(const unsigned char *a, unsigned *o) {
  using Sorting = cub::BlockHistogram<unsigned char, 128, 4, 256>;
  using Atomic = cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ union Storage {
    typename Sorting::TempStorage sorting;
    typename Atomic::TempStorage atomic;
  } s;
  __shared__ unsigned histogram[256];
  int i = threadIdx.x;
  unsigned char x[4];
  for (int k = 0; k < 4; k++)
    x[k] = a[i * 4 + k];
  Atomic(s.atomic).Histogram(x, histogram);
  __syncthreads();
  for (int k = i; k < 256; k += 128)
    o[k] = histogram[k];
  __syncthreads();
  Sorting(s.sorting).Histogram(x, histogram);
  __syncthreads();
  for (int k = i; k < 256; k += 128)
    o[256 + k] = histogram[k];
}
