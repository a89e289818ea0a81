---@meta _
-- What metatables make, for editors: everything else is annotated where it is written, under lua/.

---A Lua value that one element can hold or give: a number, a boolean (bool), an int64_t or uint64_t (64-bit
---integers beyond 2^53), or a complex (complex64, complex128).
---@alias xchg.Element number|boolean|ffi.cdata*

---One entry of an index expression: a number drops its dimension; {} keeps it whole, {first}, {first, last} and
---{first, last, step} cut it, both ends included.
---@alias xchg.Entry integer|integer[]

---An n-dimensional array over memory that it owns, borrows from Python or views: cdata of its dtype's own type.
---`t[i]` is an element of a tensor with one dimension, else the sub-tensor; `t[{...}]` an element or a view. Both can
---be assigned to. Indices and dimensions count from 1, negative ones from the end.
---@alias xchg.protocol
---| "exchange_api" | "dlpack" | "cai" | "buffer" | "array_struct" | "array_interface" | "array"
---| "lua" # made here

---@class xchg.Tensor : ffi.cdata*
---@field dtype xchg.dtype
---@field device string "cpu", "cuda:0", ...
---@field ndim integer
---@field shape integer[] a fresh table
---@field strides integer[] in elements, a fresh table
---@field itemsize number bytes of one element, a fraction where elements are packed
---@field nbytes integer bytes of all elements
---@field readonly boolean
---@field protocol xchg.protocol how the memory came here
---@field owner any the Python object that the memory came from; nil for our own and for raw capsules
---@field data ffi.cdata* typed pointer to the first element, from 0 on, unchecked; constant if read-only; host only
---@field ptr ffi.cdata* the same for memory of any device, to be passed on
---@field [integer] xchg.Element|xchg.Tensor
---@field [xchg.Entry[]] xchg.Element|xchg.Tensor
---@operator len: integer
local Tensor = {}

---The element at as many indices as dimensions.
---@param ... integer
---@return xchg.Element
function Tensor:at(...) end

---Writes the element at as many indices as dimensions.
---@param value xchg.Element
---@param ... integer
function Tensor:set(value, ...) end

---The only element of a tensor that has one.
---@return xchg.Element
function Tensor:item() end

---An element of an int64 or uint64 tensor as int64_t or uint64_t, also where it would fit a number.
---@param ... integer
---@return ffi.cdata*
function Tensor:i64(...) end

---The elements as nested tables; one element for a tensor without dimensions.
---@return table|xchg.Element
function Tensor:totable() end

---The elements as text, summarised where there are many; the last line says what the tensor is.
---@param options { full: boolean?, precision: integer?, threshold: integer?, width: integer?, edgeitems: integer? }?
---@return string
function Tensor:tostring(options) end

---Number of elements.
---@return integer
function Tensor:numel() end

---Number of dimensions.
---@return integer
function Tensor:dim() end

---Extent of dimension `d`, or all extents.
---@param d integer
---@return integer
---@overload fun(self: xchg.Tensor): integer[]
function Tensor:size(d) end

---Stride of dimension `d` in elements, or all strides.
---@param d integer
---@return integer
---@overload fun(self: xchg.Tensor): integer[]
function Tensor:stride(d) end

---Whether the elements lie compact in row-major order.
---@return boolean
function Tensor:is_contiguous() end

---The sub-tensor at index `i` of dimension `d`, which disappears. A view.
---@param d integer
---@param i integer
---@return xchg.Tensor
function Tensor:select(d, i) end

---`length` elements of dimension `d` from `start` on. A view.
---@param d integer
---@param start integer
---@param length integer
---@return xchg.Tensor
function Tensor:narrow(d, start, length) end

---Two dimensions exchanged. A view.
---@param d1 integer
---@param d2 integer
---@return xchg.Tensor
function Tensor:transpose(d1, d2) end

---A new shape over the same elements in row-major order; one extent may be -1. A view; raises "not_viewable" where
---only a copy could have that shape.
---@param ... integer|integer[]
---@return xchg.Tensor
function Tensor:reshape(...) end

---The same bytes as elements of another dtype of the same size. A view.
---@param dtype xchg.dtype
---@return xchg.Tensor
function Tensor:view(dtype) end

---A compact, writable copy on the same device.
---@return xchg.Tensor
function Tensor:clone() end

---The tensor itself where its elements lie compact in row-major order, else a compact copy.
---@return xchg.Tensor
function Tensor:contiguous() end

---Copies `source` into the tensor: broadcast to its shape, cast to its dtype. Returns the tensor. Copies with memory of
---CUDA are queued on `stream` (default: the current one). They wait for pinned and managed memory unless
---`non_blocking`.
---@param source xchg.Tensor
---@param options { stream: any, non_blocking: boolean? }?
---@return xchg.Tensor
function Tensor:copy_(source, options) end

---Writes one value everywhere. Returns the tensor.
---@param value xchg.Element
---@return xchg.Tensor
function Tensor:fill_(value) end

---The tensor as another dtype or on another device: itself where nothing changes, unless `copy` is true. Copies with
---memory of CUDA as in `copy_`; the new tensor is made in the order of `stream` too.
---@param target xchg.dtype|string|xchg.Device
---@param options { copy: boolean?, stream: any, non_blocking: boolean? }?
---@return xchg.Tensor
function Tensor:to(target, options) end

---Gives the memory back now; views keep it. Doing it twice is fine, any other use afterwards raises.
function Tensor:release() end

---The memory is in use on a stream until what is queued there now is done: it is not given back before.
---@param stream any a Stream, a handle, 1 or 2 (the default streams), a Python stream; nil: the current one
---@return xchg.Tensor
function Tensor:record_stream(stream) end

---A Python object that no Lua value says as well. `o.name` is an attribute, `o[number]` an item in Python's own
---numbering, `o(...)` and `o:method(...)` call; operators are Python's. `==` asks for identity.
---@class xchg.python.Object : userdata
---@field [string] any
---@field [integer] any
---@operator call(...): any
---@operator len: integer
---@operator unm: any
---@operator add(any): any
---@operator sub(any): any
---@operator mul(any): any
---@operator div(any): any
---@operator mod(any): any
---@operator pow(any): any
---@operator concat(any): any

---Kernels are launched in four ways: `k(grid, block, ...)`, `k:launch(options, ...)`, `k:over(extent, ...)`, and
---`k:config(options)`, which gives a function of the arguments. All arguments are checked.
---@class xchg.cuda.Kernel
---@field program xchg.cuda.Program where it is from
---@field launch fun(self: xchg.cuda.Kernel, options: xchg.cuda.LaunchOptions, ...: any)
---@field over fun(self: xchg.cuda.Kernel, extent: integer|xchg.Tensor|table, ...: any) {h, w} with x along the last
---@operator call(integer|integer[]): nil

---All other names are kernels of the program.
---@class xchg.cuda.Program
---@field [string] xchg.cuda.Kernel
