-- What a Python buffer says of its items: every format, and every way in which it contradicts itself.
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"
local raises = require "spec.support.raises"

local py = xchg.python
local exporter

local function export(fields) return exporter.export(py.kwargs(fields)) end

setup(function()
  py.exec [[import sys; sys.path.insert(0, "spec/support")]]
  exporter = py.import "exporter"
end)

teardown(function()
  exporter.fields_of:clear()
  py.exec [==[sys.path.remove("spec/support"); del sys.modules["exporter"]]==]
  exporter = nil
end)

after_each(function()
  py.collect()
  local held, released = py.unpack(exporter.account())
  assert.equal(held, released)
end)

describe("the format of a buffer", function()
  -- From the documentation of struct and PEP 3118, on a 64-bit machine of little-endian order.
  local numbers = {
    { "?", 1, "bool" }, { "b", 1, "int8" }, { "B", 1, "uint8" }, { "c", 1, "uint8" },
    { "h", 2, "int16" }, { "H", 2, "uint16" }, { "i", 4, "int32" }, { "I", 4, "uint32" },
    { "q", 8, "int64" }, { "Q", 8, "uint64" }, { "e", 2, "float16" }, { "f", 4, "float32" }, { "d", 8, "float64" },
    { "Ze", 4, "complex32" }, { "Zf", 8, "complex64" }, { "Zd", 16, "complex128" }, { "F", 8, "complex64" },
    { "D", 16, "complex128" },
  }
  for _, row in ipairs(numbers) do
    local code, size, dtype = unpack(row)
    for _, prefix in ipairs { "", "@", "^", "=", "<", "1", "<1" } do
      it(("'%s%s' is %s"):format(prefix, code, dtype), function()
        local t = xchg.from_buffer(export { format = prefix .. code, itemsize = size })
        assert.equal(dtype, t.dtype)
        assert.equal("buffer", t.protocol)
        assert.same({ 8 }, t.shape)
        t:release()
      end)
    end
    for _, prefix in ipairs { ">", "!" } do
      it(("'%s%s' is %s"):format(prefix, code, size == 1 and dtype or "refused"), function()
        local x = export { format = prefix .. code, itemsize = size }
        if size == 1 then
          local t = xchg.from_buffer(x)
          assert.equal(dtype, t.dtype)
          t:release()
        else
          raises("unsupported_dtype", "buffer: format '" .. prefix .. code .. "' is big-endian; convert", xchg.from_buffer, x)
        end
      end)
    end
    it(("'%s' with another item size is refused"):format(code), function()
      local x = export { format = code, itemsize = 32 }
      if code == "B" then
        raises("unsupported_dtype", "'B' does not say what its 32-byte items are", xchg.from_buffer, x)
      else
        raises("bad_descriptor", ("format '%s' means items of %d bytes, and itemsize is 32"):format(code, size),
          xchg.from_buffer, x)
      end
    end)
  end

  local others = {
    { "l", 8, "int64" }, { "L", 8, "uint64" }, { "@l", 8, "int64" }, { "^L", 8, "uint64" },
    { "=l", 4, "int32" }, { "<L", 4, "uint32" }, { "<l", 8, "int64" }, { "=L", 8, "uint64" },
    { "n", 8, "int64" }, { "N", 8, "uint64" }, { "@n", 8, "int64" },
    { nil, 1, "uint8" },
    -- items without a type of their own
    { "x", 1, "int8", dtype = "int8" }, { "2x", 2, "bfloat16", dtype = "bfloat16" }, { "s", 1, "bool", dtype = "bool" },
    { "8s", 8, "float64", dtype = "float64" }, { "B", 4, "int32", dtype = "int32" },
    { "B", 1, "float8_e4m3fn", dtype = "float8_e4m3fn" }, { "f", 4, "float32", dtype = "float32" },
  }
  for _, row in pairs(others) do
    it(("'%s' of %d bytes is %s"):format(tostring(row[1]), row[2], row[3]), function()
      local x = row[1] and export { format = row[1], itemsize = row[2] } or export { format = py.None }
      local t = xchg.from_buffer(x, { dtype = row.dtype })
      assert.equal(row[3], t.dtype)
      assert.same({ 8 }, t.shape)
      t:release()
    end)
  end

  local refused = {
    { "T{i:a:=d:b:}", 12, "means records, which tensors do not hold; pass one field" },
    { "<T{<c:a:<d:b:}", 16, "means records" }, { "(2,3)f", 24, "means arrays" }, { "@(2)f", 8, "means arrays" },
    { "O", 8, "means Python objects" }, { "P", 8, "means pointers" }, { "<P", 8, "means pointers" },
    { "&<i", 8, "means pointers" }, { "X{}", 8, "means functions" }, { "t", 1, "means bit fields" },
    { "g", 16, "means long doubles" }, { "Zg", 32, "means long doubles" }, { "u", 2, "means text" },
    { "2w", 8, "means text" }, { "<u", 4, "means text" }, { "p", 1, "means Pascal strings" },
    { "3d", 24, "has several numbers in one item" }, { "<2h", 4, "has several numbers in one item" },
    { "if", 8, "has several numbers in one item" }, { "11B", 11, "has several numbers in one item" },
    { "0d", 8, "has several numbers in one item" }, { "ff", 8, "has several numbers in one item" },
    { "", 1, "format '' is none that tensors have a dtype for" }, { "<", 1, "is none" }, { "12", 1, "is none" },
    { "E", 2, "is none" }, { "Z", 2, "is none" }, { "ZZ", 2, "is none" }, { "Zi", 8, "is none" },
    { "=n", 8, "is none" }, { "<N", 8, "is none" }, { "<<i", 4, "is none" }, { " i", 4, "is none" },
    { "\195\191\n", 4, "format '??' is none" },
    { ("T"):rep(90), 4, "'" .. ("T"):rep(36) .. "...' means records" },
    { "2x", 2, "does not say what its 2-byte items are; pass the option dtype" }, { "3s", 3, "does not say" },
    { "2x", 2, "has items of 2 bytes, and float32 has 32 bits", dtype = "float32" },
    { "f", 4, "the items are float32 (format 'f'), and the option dtype", dtype = "int32" },
    { "H", 2, "the items are uint16", dtype = "bfloat16" },
  }
  for _, row in ipairs(refused) do
    it(("'%s'%s is refused by name"):format(row[1]:gsub("[^ -~]", "."), row.dtype and " as " .. row.dtype or ""), function()
      raises("unsupported_dtype", row[3], xchg.from_buffer, export { format = row[1], itemsize = row[2] },
        { dtype = row.dtype })
    end)
  end

  for _, size in ipairs { 0, -1, -2 ^ 40 } do
    it(("with an item size of %d is refused"):format(size), function()
      raises("bad_descriptor", ("itemsize is %d"):format(size), xchg.from_buffer,
        export { format = "B", itemsize = size, length = 0 })
    end)
  end
end)

describe("the layout of a buffer", function()
  local T, N = py.tuple, py.None
  local good = {
    { "strides of elements", { shape = T { 2, 3 }, strides = T { 24, 8 } }, { 2, 3 }, { 3, 1 } },
    { "no strides", { shape = T { 2, 3 } }, { 2, 3 }, { 3, 1 } },
    { "negative strides", { shape = T { 3 }, strides = T { -8 }, offset = 16 }, { 3 }, { -1 } },
    { "strides of zero", { shape = T { 3, 2 }, strides = T { 0, 8 } }, { 3, 2 }, { 0, 1 } },
    { "wide strides", { shape = T { 3 }, strides = T { 16 } }, { 3 }, { 2 } },
    { "odd strides that are never taken", { shape = T { 1, 3 }, strides = T { 77, 8 } }, { 1, 3 }, { 3, 1 } },
    { "no elements, whatever the strides", { shape = T { 0, 3 }, strides = T { 5, 7 } }, { 0, 3 }, { 3, 1 } },
    { "no elements and no address", { shape = T { 0 }, buf = false }, { 0 }, { 1 } },
    { "no dimensions", { shape = T {} }, {}, {} },
    { "no dimensions and no shape", { shape = N, ndim = 0 }, {}, {} },
    { "one dimension and no shape", { shape = N, ndim = 1, length = 32 }, { 4 }, { 1 } },
    { "suboffsets that are none", { shape = T { 2 }, suboffsets = T { -1 } }, { 2 }, { 1 } },
  }
  for _, row in ipairs(good) do
    it("with " .. row[1], function()
      local fields = { format = "d", itemsize = 8 }
      for k, v in pairs(row[2]) do fields[k] = v end
      local t = xchg.from_buffer(export(fields))
      assert.same(row[3], t.shape)
      assert.same(row[4], t.strides)
      if t:numel() > 0 then
        local at = {}
        for d = 1, t.ndim do at[d] = 1 end
        assert.equal((fields.offset or 0) / 8, t:at(unpack(at)))
      end
      t:release()
    end)
  end

  local big = 2 ^ 62
  local bad = {
    { "ndim -1", { ndim = -1 }, "bad_descriptor", "ndim is -1" },
    { "ndim 65", { ndim = 65 }, "bad_descriptor", "ndim is 65" },
    { "no shape", { shape = N, ndim = 2, length = 64 }, "bad_descriptor", "shape is NULL for 2 dimensions" },
    { "another length", { shape = T { 4 }, length = 40 }, "bad_descriptor", "shape (4) of 8-byte items makes other than the 40" },
    { "a negative extent", { shape = T { -4 }, length = -32 }, "bad_descriptor", "shape (-4)" },
    { "more than memory", { shape = T { py.int(big), 8 }, length = 0 }, "bad_descriptor", "makes other than" },
    { "strides between two", { shape = T { 2 }, strides = T { 12 } }, "unsupported_layout",
      "stride 12 of dimension 1 is no multiple of the 8 bytes" },
    { "strides that wrap", { shape = T { 4 }, strides = T { py.int(2 ^ 62) } }, "bad_descriptor", "past the end of memory" },
    { "pointers", { shape = T { 2, 2 }, suboffsets = T { 0, -1 } }, "unsupported_layout", "dimension 1 is an array of pointers" },
    { "an odd address", { offset = 4 }, "unsupported_layout", "which is not a multiple of 8 as float64 needs" },
    { "no address", { buf = false }, "refused", "data is NULL for 8 elements" },
    { "a failure without a reason", { fails = true }, "refused", "exporter.Exporter refuses: no reason given" },
  }
  for _, row in ipairs(bad) do
    it("with " .. row[1] .. " is refused", function()
      local fields = { format = "d", itemsize = 8 }
      for k, v in pairs(row[2]) do fields[k] = v end
      local before = xchg.stats().tensors
      raises(row[3], row[4], xchg.from_buffer, export(fields))
      assert.equal(before, xchg.stats().tensors)
    end)
  end

  it("of bytes becomes one of larger elements", function()
    local t = xchg.from_buffer(export { shape = T { 2, 16 }, strides = T { 32, 1 }, offset = 8 }, { dtype = "float64" })
    assert.same({ 2, 2 }, t.shape)
    assert.same({ 4, 1 }, t.strides)
    assert.same({ { 1, 2 }, { 5, 6 } }, t:totable())
    t:release()
    t = xchg.from_buffer(export { shape = T { 6 } }, { dtype = "float4_e2m1fn" })
    assert.same({ 12 }, t.shape)
    t:release()
    raises("shape_mismatch", "7 bytes are no whole number of float32", xchg.from_buffer, export { shape = T { 7 } },
      { dtype = "float32" })
    for _, fields in ipairs { { shape = T { 8 }, strides = T { 2 } }, { shape = T {} } } do
      raises("unsupported_layout", "the bytes do not stand side by side", xchg.from_buffer, export(fields),
        { dtype = "float32" })
    end
    raises("unsupported_layout", "stride 6 of dimension 1", xchg.from_buffer,
      export { shape = T { 2, 4 }, strides = T { 6, 1 } }, { dtype = "float32" })
  end)

  it("is read-only where the exporter says so, although it was asked for writing", function()
    local x = export { format = "d", itemsize = 8, readonly = 1 }
    local t = xchg.from_buffer(x)
    assert.is_true(t.readonly)
    t:release()
    raises("readonly", "from_buffer: the memory of exporter.Exporter is read-only", xchg.from_buffer, x,
      { readonly = false })
    local _, _, before = py.unpack(exporter.account())
    t = xchg.from_buffer(export {}, { readonly = true })
    local _, _, after = py.unpack(exporter.account())
    assert.equal(1, after - before)
    assert.is_true(t.readonly)
    t:release()
  end)

  it("is released once, when the last view goes", function()
    local _, before = py.unpack(exporter.account())
    local t = xchg.from_buffer(export { format = "d", itemsize = 8 })
    local half = t[{ { 1, 4 } }]
    t:release()
    py.collect()
    local _, between = py.unpack(exporter.account())
    assert.equal(before, between)
    half:release()
    py.collect()
    local _, after = py.unpack(exporter.account())
    assert.equal(before + 1, after)
  end)
end)

-- PEP 688.
describe("a class with __buffer__", function()
  local ns

  setup(function()
    ns = py.exec([[
import sys
calls = []
class Exporter:
    def __init__(self, answer, readonly=False): self.answer, self.readonly = answer, readonly
    def __buffer__(self, flags):
        calls.append("write" if flags & 1 else "read")
        if self.readonly and flags & 1: raise BufferError("read-only")
        if isinstance(self.answer, BaseException): raise self.answer
        return self.answer
    def __release_buffer__(self, view): calls.append("release")
]], {})
  end)
  teardown(function() ns = nil end)

  -- what, source, dtype or code, what it is asked; part of the message
  for _, row in ipairs {
    { "that may be written", "Exporter(memoryview(bytearray(4)))", "uint8", "write release" },
    { "that refuses to be written", "Exporter(memoryview(b'abcd').cast('h'), True)", "int16", "write read release" },
    { "that is read-only whatever is asked", "Exporter(memoryview(b'abcd'))", "uint8", "write read release" },
    { "that raises", "Exporter(ValueError('never'))", "refused", "write read", "ValueError: never" },
    { "that is interrupted", "Exporter(KeyboardInterrupt())", "refused", "write", "KeyboardInterrupt" },
    { "that gives something else", "Exporter(b'abcd')", "refused", "write read", "TypeError: __buffer__ returned" },
  } do
    it(row[1], function()
      if py.eval("sys.version_info < (3, 12)", ns) then return pending "Python has it from 3.12 on" end
      local done, t = pcall(xchg.from_buffer, py.eval(row[2], ns))
      assert.equal(row[3], done and t.dtype or t.code, not done and t.message)
      if done then t:release() else assert.truthy(t.message:find(row[5], 1, true), t.message) end
      py.collect()
      local calls = py.eval("' '.join(calls), calls.clear()", ns)
      assert.equal(row[4], (py.unpack(calls)))
    end)
  end
end)

it("buffers of any protocol are released once, on threads that Python has never seen", function()
  local result = child.run([[
    local xchg = require "xchg"
    local py = xchg.python
    local ns = py.exec([=[
import array
held = []
class Interface:
    def __init__(self, i):
        self.data = array.array("d", [i] * 5)
        self.__array_interface__ = {"version": 3, "typestr": "<f8", "shape": (5,), "data": self.data}
        held.append(self.data)
def make(i):
    if i % 3 == 0: return Interface(i)
    held.append(array.array("d", [i] * 5))
    return memoryview(held[-1])[::-1] if i % 3 == 1 else held[-1]
def grown():
    for each in held: each.append(0) # BufferError where a buffer is still held
    return len(held)
]=], {})
    local total = 0
    for i = 1, 90 do
      local t = xchg.asarray(py.get(ns, "make")(i))
      total = total + t[5] - i
      if i % 2 == 0 then t:release() end
      if i % 30 == 0 then collectgarbage() end
    end
    for _ = 1, 3 do
      collectgarbage()
      py.collect()
    end
    assert(total == 0 and py.get(ns, "grown")() == 90)
    print "done"
  ]], { command = { capsules.built("threads_host"), "smp" } })
  assert.equal(0, result.status, result.stderr)
  assert.equal(4, select(2, result.stdout:gsub("done", "")))
end)
