// Functions that are really called: recursion, pointers to functions, virtual functions, structures as arguments and results.

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void recursion(int *o) {
  int i = threadIdx.x;
  o[i] = fibonacci(i % 14);
}

__device__ __noinline__ int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void double_recursion(int *o) {
  int i = threadIdx.x;
  o[i] = ackermann(i & 1 ? 2 : 1, i % 7);
}

__device__ int is_odd(unsigned n);
__device__ __noinline__ int is_even(unsigned n) {
  return n == 0 ? 1 : is_odd(n - 1);
}
__device__ __noinline__ int is_odd(unsigned n) {
  return n == 0 ? 0 : is_even(n - 1);
}

extern "C" __global__ void mutual_recursion(int *o) {
  int i = threadIdx.x;
  o[i] = is_even(i) * 2 + is_odd(i);
}

typedef int (*binary)(int, int);
__device__ __noinline__ int add(int a, int b) {
  return a + b;
}
__device__ __noinline__ int subtract(int a, int b) {
  return a - b;
}
__device__ __noinline__ int multiply(int a, int b) {
  return a * b;
}
__device__ binary table[3] = {add, subtract, multiply};
__constant__ binary constant_table[3] = {multiply, add, subtract};

extern "C" __global__ void function_pointers(int *o, int k) {
  int i = threadIdx.x;
  o[i] = table[i % 3](i, k) + 1000 * constant_table[(i + 1) % 3](k, i);
}

extern "C" __global__ void chosen_pointer(int *o, int k) {
  int i = threadIdx.x;
  binary f = i < 10 ? add : i < 20 ? subtract : multiply;
  o[i] = f(f(i, k), f(k, i));
}

struct Shape {
  int k;
  __device__ Shape(int k) : k(k) {
  }
  __device__ virtual int area(int x) const {
    return x * k;
  }
};
struct Square : Shape {
  __device__ Square() : Shape(2) {
  }
  __device__ int area(int x) const override {
    return x * x + k;
  }
};
struct Triangle : Shape {
  int height;
  __device__ Triangle(int height) : Shape(3), height(height) {
  }
  __device__ int area(int x) const override {
    return x * height / 2;
  }
};

extern "C" __global__ void virtual_functions(int *o) {
  int i = threadIdx.x;
  Square square;
  Triangle triangle(i + 1);
  Shape shape(5);
  const Shape *p = i % 3 == 0 ? (const Shape *)&square : i % 3 == 1 ? (const Shape *)&triangle : &shape;
  o[i] = p->area(i);
}

struct Big {
  int v[12];
  double d;
  char c;
};

__device__ __noinline__ Big make(int i) {
  Big b;
  for (int k = 0; k < 12; k++)
    b.v[k] = i * k;
  b.d = i * 0.5;
  b.c = (char)i;
  return b;
}

__device__ __noinline__ double take(Big b, float f, short s, char c, float4 v, bool t) {
  double r = b.d + f + s + c + v.x + v.w + t;
  for (int k = 0; k < 12; k++)
    r += b.v[k];
  return r + b.c;
}

extern "C" __global__ void structures(double *o) {
  int i = threadIdx.x;
  Big b = make(i);
  b.v[i % 12] += 5;
  o[i] = take(b, 1.5f, (short)-i, (char)-3, make_float4(i, 2, 3, 4), i & 1);
}

__device__ __noinline__ void sort(int *v, int low, int high) {
  if (low >= high)
    return;
  int pivot = v[(low + high) / 2], i = low, j = high;
  while (i <= j) {
    while (v[i] < pivot)
      i++;
    while (v[j] > pivot)
      j--;
    if (i <= j) {
      int t = v[i];
      v[i++] = v[j];
      v[j--] = t;
    }
  }
  sort(v, low, j);
  sort(v, i, high);
}

extern "C" __global__ void quicksort(int *o, int n) {
  sort(o + threadIdx.x * n, 0, n - 1);
}

__device__ __noinline__ int within_barrier(int *shared, int i) {
  shared[i] = i * i;
  __syncthreads();
  return shared[blockDim.x - 1 - i];
}

extern "C" __global__ void barrier_in_function(int *o) {
  __shared__ int s[128];
  o[threadIdx.x] = within_barrier(s, threadIdx.x);
}

// A list that grows on the device's heap, and objects that know their size only through a virtual destructor.
struct Node {
  int value;
  Node *next;
};

extern "C" __global__ void heap(int *o, int n) {
  int i = threadIdx.x, sum = 0;
  Node *list = nullptr;
  for (int k = 0; k < n; k++) {
    Node *node = new Node;
    node->value = i * k;
    node->next = list;
    list = node;
  }
  while (list) {
    Node *next = list->next;
    sum = sum * 3 + list->value;
    delete list;
    list = next;
  }
  int *array = (int *)malloc(16 * sizeof(int));
  for (int k = 0; k < 16; k++)
    array[k] = k + i;
  o[i] = sum + array[i % 16];
  free(array);
}

extern "C" __global__ void registers(unsigned *o) {
  unsigned i = threadIdx.x, *r = o + i * 6;
  long long before = clock64(), time;
  asm volatile("mov.u32 %0, %%ntid.x;" : "=r"(r[0]));
  asm volatile("mov.u32 %0, %%nctaid.y;" : "=r"(r[1]));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(r[2]));
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(r[3]));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  __nanosleep(20);
  r[4] = clock64() > before;
  r[5] = time > 0;
}
