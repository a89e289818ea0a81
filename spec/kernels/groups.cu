// Cooperative groups: blocks, tiles, coalesced threads, partitions, collectives, the whole grid.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void tiles(const int *a, int *o) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int i = block.thread_rank(), *r = o + i * 8;
  r[0] = tile.thread_rank();
  r[1] = tile.meta_group_rank();
  r[2] = tile.shfl_down(a[i], 1);
  r[3] = tile.any(a[i] > 80);
  r[4] = tile.ballot(a[i] & 1);
  r[5] = tile.match_any(a[i] & 3);
  r[6] = tile.shfl(a[i], 2);
  tile.sync();
  r[7] = block.size() + tile.size();
}

extern "C" __global__ void collectives(const int *a, int *o) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  auto warp = cg::tiled_partition<32>(block);
  int i = block.thread_rank(), *r = o + i * 6;
  r[0] = cg::reduce(tile, a[i], cg::plus<int>());
  r[1] = cg::reduce(warp, a[i], cg::greater<int>());
  r[2] = cg::inclusive_scan(tile, a[i]);
  r[3] = cg::exclusive_scan(warp, a[i]);
  r[4] = cg::reduce(warp, (unsigned)a[i], cg::bit_xor<unsigned>());
  r[5] = (int)cg::reduce(tile, (float)a[i], cg::plus<float>());
}

extern "C" __global__ void coalesced(const int *a, int *o) {
  int i = threadIdx.x, *r = o + i * 4;
  if (i % 3 == 0) {
    auto group = cg::coalesced_threads();
    r[0] = group.size();
    r[1] = group.thread_rank();
    r[2] = group.shfl(a[i], 0);
    r[3] = cg::reduce(group, a[i], cg::plus<int>());
  }
}

extern "C" __global__ void partitions(const int *a, int *o) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int i = threadIdx.x, *r = o + i * 4;
  auto labeled = cg::labeled_partition(warp, a[i] & 3);
  r[0] = labeled.size();
  r[1] = labeled.thread_rank();
  auto binary = cg::binary_partition(warp, a[i] > 0);
  r[2] = binary.size();
  r[3] = cg::reduce(binary, a[i], cg::less<int>());
}

// One atomic for all lanes that come along.
extern "C" __global__ void aggregated(int *counter, int *o) {
  int i = threadIdx.x;
  if (i % 5 != 2)
    return;
  auto group = cg::coalesced_threads();
  int base = 0;
  if (group.thread_rank() == 0)
    base = atomicAdd(counter, (int)group.size());
  base = group.shfl(base, 0);
  o[base + group.thread_rank()] += 1;
}

extern "C" __global__ void split_barrier(int *o) {
  __shared__ int s[128];
  auto block = cg::this_thread_block();
  int i = block.thread_rank();
  s[i] = i * 2;
  auto token = block.barrier_arrive();
  int own = i * 1000;
  block.barrier_wait(static_cast<decltype(token) &&>(token));
  o[i] = own + s[127 - i];
}

extern "C" __global__ void copied(const int *a, int *o) {
  __shared__ __align__(16) int s[256];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, a, sizeof(int) * 256);
  cg::wait(block);
  o[block.thread_rank()] = s[255 - block.thread_rank()];
}

extern "C" __global__ void grid_sync(int *a, int *o, int n) {
  auto grid = cg::this_grid();
  int i = grid.thread_rank();
  for (int step = 0; step < n; step++) {
    o[i] = a[(i + 37) % grid.size()] + a[i];
    grid.sync();
    a[i] = o[(i * 5) % grid.size()] % 10007;
    grid.sync();
  }
}
