// CUB's warp-wide primitives.

#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_store.cuh>

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

// Only the first lane of a reduction has its result.
extern "C" __global__ void reduced(const int *a, const double *d, int *o, double *p) {
  using Whole = cub::WarpReduce<int>;
  using Half = cub::WarpReduce<double, 16>;
  __shared__ typename Whole::TempStorage s[4];
  __shared__ typename Half::TempStorage t[8];
  int i = threadIdx.x, w = i / 32;
  int sum = Whole(s[w]).Sum(a[i]);
  int greatest = Whole(s[w]).Reduce(a[i], Greatest());
  int some = Whole(s[w]).Sum(a[i], 20);
  double real = Half(t[i / 16]).Sum(d[i]);
  if (i % 32 == 0) {
    o[w * 3] = sum;
    o[w * 3 + 1] = greatest;
    o[w * 3 + 2] = some;
  }
  if (i % 16 == 0)
    p[i / 16] = real;
}

extern "C" __global__ void segmented(const int *a, int *o) {
  using Whole = cub::WarpReduce<int>;
  __shared__ typename Whole::TempStorage s[4];
  int i = threadIdx.x;
  bool head = i % 32 % 5 == 0;
  int sum = Whole(s[i / 32]).HeadSegmentedSum(a[i], head);
  o[i] = head ? sum : 0;
}

extern "C" __global__ void scanned(const int *a, int *o) {
  using Scan = cub::WarpScan<int>;
  __shared__ typename Scan::TempStorage s[4];
  int i = threadIdx.x, w = i / 32, x, y, total;
  Scan(s[w]).ExclusiveSum(a[i], x, total);
  Scan(s[w]).InclusiveScan(a[i], y, Greatest());
  o[i * 4] = x;
  o[i * 4 + 1] = total;
  o[i * 4 + 2] = y;
  o[i * 4 + 3] = Scan(s[w]).Broadcast(a[i], 3);
}

extern "C" __global__ void sorted(const int *a, int *o) {
  using Load = cub::WarpLoad<int, 4, cub::WARP_LOAD_TRANSPOSE>;
  using Store = cub::WarpStore<int, 4, cub::WARP_STORE_TRANSPOSE>;
  using Sort = cub::WarpMergeSort<int, 4, 32>;
  __shared__ union Storage {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Sort::TempStorage sort;
  } s[4];
  int w = threadIdx.x / 32, x[4];
  Load(s[w].load).Load(a + w * 128, x);
  __syncwarp();
  Sort(s[w].sort).Sort(x, Less());
  __syncwarp();
  Store(s[w].store).Store(o + w * 128, x);
}

extern "C" __global__ void exchanged(const int *a, int *o) {
  using Exchange = cub::WarpExchange<int, 4, 32>;
  __shared__ typename Exchange::TempStorage s[4];
  int i = threadIdx.x, w = i / 32, lane = i % 32, x[4];
  for (int k = 0; k < 4; k++)
    x[k] = a[w * 128 + k * 32 + lane];
  Exchange(s[w]).StripedToBlocked(x, x);
  for (int k = 0; k < 4; k++)
    o[i * 4 + k] = x[k];
}
