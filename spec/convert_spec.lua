-- Values between Lua and Python, both ways, and what is refused.

local ffi = require "ffi"
local xchg = require "xchg"
local py = xchg.python

local function fails(fn, ...)
  local ok, e = pcall(fn, ...)
  assert.is_false(ok)
  assert.is_table(e, tostring(e))
  return e
end

describe("a Lua value", function()
  -- {value, repr() of what Python gets}
  local rows = {
    { 0, "0" }, { -0.0, "-0.0" }, { 1, "1" }, { -3, "-3" }, { 1.5, "1.5" },
    { 2 ^ 53, "9007199254740992" }, { -2 ^ 53, "-9007199254740992" }, { 2 ^ 53 + 2, "9007199254740994.0" },
    { 2 ^ 60, "1.152921504606847e+18" }, { 1 / 0, "inf" }, { -1 / 0, "-inf" }, { 0 / 0, "nan" },
    { true, "True" }, { false, "False" }, { nil, "None" },
    { 9007199254740993LL, "9007199254740993" }, { -9223372036854775807LL - 1LL, "-9223372036854775808" },
    { 18446744073709551615ULL, "18446744073709551615" }, { 5LL, "5" },
    { "", "''" }, { "plain", "'plain'" }, { "a\0b", [['a\x00b']] }, { "h\195\169", "'h\195\169'" },
    { "\240\159\152\128", "'\240\159\152\128'" },
    { { 1, 2, 3 }, "[1, 2, 3]" }, { { 1, { 2, { 3 } } }, "[1, [2, [3]]]" }, { { a = 1 }, "{'a': 1}" },
    { { { a = { 1, "x", true } } }, "[{'a': [1, 'x', True]}]" },
  }
  for _, row in ipairs(rows) do
    it("becomes " .. row[2], function()
      assert.equal(row[2], py.repr(row[1]))
    end)
  end

  it("is an int only where the number is integral", function()
    assert.equal("int", py.type(3).__name__)
    assert.equal("float", py.type(3.5).__name__)
    assert.equal("float", py.type(2 ^ 54).__name__)
    assert.equal("float", py.type(-0.0).__name__)
  end)

  it("keeps None in a list as py.None", function()
    assert.equal("[1, None, 3]", py.repr { 1, py.None, 3 })
  end)

  it("goes back as the object that it came from", function()
    local o = py.eval "object()"
    assert.is_true(py.is(o, py.eval("x", { x = o })))
  end)
end)

describe("a table", function()
  it("that holds itself becomes a list that holds itself", function()
    local t = { 1 }
    t[2] = t
    local l = py.list(t)
    assert.is_true(py.is(l, l[1]) or py.is(l[1], py.get(l[1], 1)))
    local d = { name = "d" }
    d.self = d
    local o = py.eval("x", { x = { d } })
    assert.is_true(py.is(py.get(o[0], "self"), o[0]))
  end)

  it("that occurs twice becomes one object", function()
    local shared = { 1 }
    local l = py.list { shared, shared, { shared } }
    assert.is_true(py.is(l[0], l[1]))
    assert.is_true(py.is(l[0], py.get(l[2], 0)))
  end)

  it("may be nested deep, but not without end", function()
    local t = { 1 }
    for _ = 1, 150 do t = { t } end
    assert.equal(1, #py.list(t))
    for _ = 1, 100 do t = { t } end
    local e = fails(py.list, t)
    assert.equal("out_of_range", e.code)
    assert.matches("nested", e.message)
  end)

  it("may be long", function()
    local t = {}
    for i = 1, 100000 do t[i] = i end
    assert.equal(5000050000, py.builtins.sum(t))
  end)

  -- {what, table, text in the message}
  local refused = {
    { "that is empty", {}, "py.list() or py.dict()" },
    { "with string keys and elements", { 1, 2, a = 3 }, "py.list(t) or py.dict(t)" },
    { "with holes", { 1, 2, nil, 4 }, "py.None" },
    { "with elements far apart", { [1] = 1, [1000] = 2 }, "py.None" },
    { "that starts at 0", { [0] = 1, 2 }, "py.list(t) or py.dict(t)" },
    { "with boolean keys", { [true] = 1 }, "py.list(t) or py.dict(t)" },
    { "with fractional keys", { [1.5] = 1 }, "py.dict" },
  }
  for _, row in ipairs(refused) do
    it(row[1] .. " is refused", function()
      local e = fails(py.repr, row[2])
      assert.equal("wrong_type", e.code)
      assert.matches("argument 1", e.message, 1, true)
      assert.is_truthy(e.message:find(row[3], 1, true), e.message)
    end)
  end

  it("becomes what is asked for", function()
    assert.equal("[]", py.repr(py.list {}))
    assert.equal("[]", py.repr(py.list()))
    assert.equal("()", py.repr(py.tuple()))
    assert.equal("{}", py.repr(py.dict {}))
    assert.equal("set()", py.repr(py.set()))
    assert.equal("(1, 2)", py.repr(py.tuple { 1, 2 }))
    assert.equal("{1: 'a'}", py.repr(py.dict { "a" }))
    assert.equal("{True: 2}", py.repr(py.dict { [true] = 2 }))
    assert.equal("{1, 2}", py.repr(py.set { 1, 2, 1 }))
    assert.equal("[1, 2]", py.repr(py.list(py.tuple { 1, 2 })))
    assert.equal("{'a': 1}", py.repr(py.dict(py.list { py.tuple { "a", 1 } })))
    assert.equal("wrong_type", fails(py.list, { a = 1 }).code)
  end)

  it("can have objects as keys of a dict", function()
    local key = py.tuple { 1, 2 }
    local d = py.dict { [key] = "v" }
    assert.equal("v", py.get(d, py.tuple { 1, 2 }))
    local e = fails(py.dict, { [py.list()] = 1 })
    assert.equal("TypeError", e.type)
  end)
end)

describe("what Python cannot take", function()
  local rows = {
    { "a function", print, "a Lua function" },
    { "a coroutine", coroutine.create(print), "a coroutine" },
    { "a foreign userdata", io.stdout, "userdata" },
    { "a pointer", ffi.new("char *"), "cdata" },
    { "a struct", ffi.new("struct { int x; }"), "cdata" },
    { "a ctype", ffi.typeof("int"), "cdata" },
    { "half a UTF-8 character", "ab\226\128", "byte 3 (0xE2)" },
    { "a byte that is no UTF-8", "\255", "py.bytes" },
    { "a surrogate", "\237\160\128", "UTF-8" },
    { "keyword arguments", py.kwargs { a = 1 }, "last argument" },
  }
  for _, row in ipairs(rows) do
    it("is refused by name: " .. row[1], function()
      local f = py.eval "lambda *a: len(a)"
      local e = fails(f, 1, row[2], 3)
      assert.is_truthy(e.message:find("argument 2", 1, true), e.message)
      assert.is_truthy(e.message:find(row[3], 1, true), e.message)
      assert.matches("convert_spec.lua:%d+$", e.where)
      e = fails(f, 1, { { x = row[2] } })
      assert.is_truthy(e.message:find("argument 2[1].x", 1, true), e.message)
      e = fails(f, py.kwargs { k = row[2] })
      assert.is_truthy(e.message:find("py.kwargs.k", 1, true), e.message)
    end)
  end

  it("loses no reference, whichever argument fails", function()
    local count = py.import("sys").getrefcount
    local f = py.eval "lambda *a, **k: len(a)"
    local o, bad = py.eval "object()", coroutine.create(function() end)
    local before, f_before = count(o), count(f)
    for _ = 1, 100 do
      fails(f, o, o, bad, o, o)
      fails(f, o, { o, { o, k = o } })
      fails(f, { o, o, { a = o, b = { o, bad } } })
      fails(f, o, py.kwargs { a = o, b = bad })
      fails(f, o, py.kwargs { a = o, [1] = o })
      fails(py.dict, { [o] = { o, { bad } } })
      fails(py.set, { o, { o } })
      fails(py.tuple, { o, bad })
      fails(py.eval, "x", { x = o, y = bad })
      fails(function() o.name = bad end)
      fails(function() return o + bad end)
      fails(py.set, o, o, bad)
      fails(py.isinstance, o, { o, bad })
    end
    py.collect()
    assert.equal(before, count(o))
    assert.equal(f_before, count(f))
  end)
end)

describe("a Python value", function()
  -- {expression, Lua value}
  local rows = {
    { "0", 0 }, { "-7", -7 }, { "2**53", 2 ^ 53 }, { "-2**53", -2 ^ 53 }, { "1.5", 1.5 }, { "True", true },
    { "False", false }, { "None", nil }, { "''", "" }, { "'a\\0b'", "a\0b" }, { "'h\\u00e9'", "h\195\169" },
    { "b'\\xff\\x00x'", "\255\0x" }, { "float('inf')", 1 / 0 },
    { "'\\udcff\\udc80'", "\255\128" },
    { "__import__('enum').IntEnum('E', 'A B').B", 2 },
    { "type('S', (str,), {})('sub')", "sub" }, { "type('F', (float,), {})(2.5)", 2.5 },
    { "type('B', (bytes,), {})(b'sub')", "sub" },
  }
  for _, row in ipairs(rows) do
    it("converts: " .. row[1], function()
      assert.equal(row[2], (py.eval(row[1])))
    end)
  end

  it("keeps large integers exact", function()
    local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
    local rows64 = {
      { "2**53+1", int64, 9007199254740993LL }, { "-2**53-1", int64, -9007199254740993LL },
      { "2**63-1", int64, 9223372036854775807LL }, { "-2**63", int64, -9223372036854775807LL - 1LL },
      { "2**63", uint64, 9223372036854775808ULL }, { "2**64-1", uint64, 18446744073709551615ULL },
      { "822988400906862643", int64, 822988400906862643LL },
    }
    for _, row in ipairs(rows64) do
      local value = py.eval(row[1])
      assert.is_true(ffi.istype(row[2], value), row[1])
      assert.is_true(value == row[3], row[1])
      assert.is_true(py.eval("x == " .. row[1], { x = value }))
    end
    for _, source in ipairs { "2**64", "-2**63-1", "10**40" } do
      local value = py.eval(source)
      assert.equal("userdata", type(value))
      assert.equal(tostring(value), py.repr(value))
      assert.is_true(py.eval("x == " .. source, { x = value }))
    end
  end)

  it("that is NaN has the one payload that Lua may see", function()
    local payload = py.eval "__import__('struct').unpack('<d', b'\\x01\\x00\\x00\\x00\\x00\\x00\\xff\\xff')[0]"
    assert.is_true(payload ~= payload)
    local bits = ffi.new("union { double d; uint64_t u; }")
    bits.d = payload
    local canonical = ffi.new("union { double d; uint64_t u; }")
    canonical.d = 0 / 0
    assert.is_true(bits.u == 0x7ff8000000000000ULL or bits.u == 0xfff8000000000000ULL)
  end)

  it("without a counterpart is an object", function()
    local sources = { "[]", "()", "{}", "set()", "object()", "bytearray(b'x')", "1j", "int", "len", "'\\ud800'" }
    for _, source in ipairs(sources) do
      assert.equal("userdata", type(py.eval(source)), source)
    end
  end)

  it("of NumPy is a number where its type is Python's float, else an object", function()
    local found, np = pcall(py.import, "numpy")
    if not found then return pending("numpy is not installed") end
    assert.equal(1.5, np.float64(1.5))
    assert.equal("userdata", type(np.float32(1.5)))
    assert.equal("userdata", type(np.int64(3)))
    assert.equal(3, py.tonumber(np.int64(3)))
    assert.equal(1.5, py.tonumber(np.float32(1.5)))
    assert.is_true(py.tonumber(np.int64(9007199254740993LL)) == 9007199254740993LL)
    assert.equal(3, np.int64(3):item())
  end)
end)

describe("a constructor", function()
  it("forces the type", function()
    local rows = {
      { py.float(3), "3.0" }, { py.int(3.7), "3" }, { py.int("12"), "12" }, { py.float("1e3"), "1000.0" },
      { py.int(2 ^ 60), "1152921504606846976" }, { py.int(5LL), "5" }, { py.str(5), "'5'" }, { py.str("x"), "'x'" },
      { py.bytes "a\0\255", [[b'a\x00\xff']] }, { py.bytes { 1, 2 }, [[b'\x01\x02']] },
      { py.bytes(py.eval "bytearray(b'q')"), "b'q'" }, { py.bytes {}, "b''" },
    }
    for _, row in ipairs(rows) do
      assert.equal("userdata", type(row[1]))
      assert.equal(row[2], py.repr(row[1]))
    end
  end)

  it("refuses what it cannot make", function()
    assert.equal("wrong_type", fails(py.bytes, 5).code)
    assert.equal("wrong_type", fails(py.bytes).code)
    assert.equal("ValueError", fails(py.int, "x").type)
    assert.equal("ValueError", fails(py.int, 0 / 0).type)
    assert.equal("OverflowError", fails(py.int, 1 / 0).type)
    assert.equal("TypeError", fails(py.list, 5).type)
    assert.equal("TypeError", fails(py.tonumber, {1}).type)
    assert.equal("bad_argument", fails(py.float).code)
  end)
end)
