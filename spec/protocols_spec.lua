-- docs/protocols.md has the same tables as the code: those of names are compared with its lists, of those of behaviour
-- each row is run.
local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"
local dictionaries = require "spec.support.dictionaries"
local lib = require "xchg.lib"
local dtypes = require "xchg.dtype"
local producers = require "spec.support.producers"
local promotion = require "xchg.promotion"
local protocols = require "xchg.protocols"
local tables = require "spec.support.tables"

local C, py = lib.C, xchg.python
local is_dtype = {}
for _, name in ipairs(dtypes.names) do is_dtype[name] = true end
local doors = lib.core.exchange
local column, plain, spans = tables.column, tables.plain, tables.spans

local function rows(heading, head) return tables.rows("docs/protocols.md", heading, head) end

describe("docs/protocols.md", function()
  it("has the protocols in the order in which they are asked", function()
    assert.same(protocols.names, column(rows("The order", "protocol | found by | memory | asked when"), 1))
  end)

  it("has every dtype with its code, bits and lanes", function()
    local told, there = rows("Dtypes", "dtype | code | bits | lanes | elements in Lua"), {}
    for id, row in ipairs(dtypes.by_id) do
      local info = C.xchg_dtype_info(id)
      there[id] = { "`" .. row.name .. "`", tostring(info.code), tostring(info.bits / info.lanes), tostring(info.lanes),
        row.readable and "read and written" or "only moved, viewed and passed on" }
    end
    assert.same(there, told)
  end)

  it("has every device by number, name and whether the host reads it", function()
    local told, there = rows("Devices", "number | device | the host reads it"), {}
    local readable = { cpu = true, cuda_host = true, cuda_managed = true, rocm_host = true }
    for number = 1, 18 do
      local name = C.xchg_device_name(number)
      if name ~= nil then
        name = ffi.string(name)
        there[#there + 1] = { tostring(number), "`" .. name .. "`", readable[name] and "yes" or "no" }
      end
    end
    assert.same(there, told)
  end)

  it("has every promotion", function()
    local told, short = rows("Promotion", "| b1 | i1 | i2 | i4 | i8 | u1 | u2 | u4 | u8 | f2 | bf16 | f4 | f8 | c8 | c16"), {}
    for i, name in ipairs(promotion.names) do
      local full, abbreviation = told[i][1]:match "^%*%*(%w+)%*%* %((%w+)%)$"
      assert.equal(name, full)
      short[name] = abbreviation
    end
    assert.equal(#promotion.names, #told)
    for i, a in ipairs(promotion.names) do
      for j, b in ipairs(promotion.names) do
        assert.equal(short[promotion.of(a, b)], told[i][j + 1], a .. " with " .. b)
      end
    end
  end)

  it("says of every code that it names what is wrong", function()
    local told = {}
    for _, row in ipairs(rows("What a code says", "code | what is wrong")) do
      for _, code in ipairs(spans(row[1])) do told[code] = true end
    end
    local mentioned = { wrong_type = true, out_of_range = true } -- of numbers and sequences, where they are explained
    for code in pairs(told) do mentioned[code] = true end
    local document = child.read "docs/protocols.md"
    for _, row in ipairs(tables.rows("docs/api.md", "Errors", "code |")) do
      local code = plain(row[1])
      if document:find("`" .. code .. "`", 1, true) then assert.is_true(mentioned[code], code) end
      told[code] = nil
    end
    assert.same({}, told) -- all of them are codes
  end)
end)

-- What xchg makes of a value: its name for the dtype, or the code of its refusal.
local function outcome(take, ...)
  local done, t = pcall(take, ...)
  if not done then return t.code, t.message, t end
  local dtype = t.dtype
  t:release()
  return dtype
end

describe("of DLPack's fields docs/protocols.md says what is taken", function()
  local c
  setup(function() c = capsules.module() end)
  teardown(function() c = nil end)
  after_each(function()
    capsules.collect()
    assert.same({ 0, 0 }, { py.unpack(c.account()) })
  end)

  -- A capsule with these fields, and whether it is fresh after an attempt to import it.
  local function import(fields)
    local made = py.eval("lambda make: make(**{**dict(kind='versioned'), **dict(" .. fields .. ")})")(c.make)
    local name = c.name_of(made.capsule)
    local code = outcome(xchg.from_dlpack, made.capsule)
    local fresh = c.name_of(made.capsule) == name
    made.drop()
    if not made.has_deleter or fresh and made.deleted == 0 then made.forget() end
    return code, fresh
  end

  for _, row in ipairs(rows("Fields", "field | taken | refused | code")) do
    for _, fields in ipairs(spans(row[2])) do
      if fields:find "=" then
        it(row[1] .. ": " .. fields, function() assert.same({ "float64", false }, { import(fields) }) end)
      end
    end
    for _, fields in ipairs(spans(row[3])) do
      it(row[1] .. ": not " .. fields, function() assert.same({ plain(row[4]), true }, { import(fields) }) end)
    end
  end

  it("and that a producer is asked with these keywords, and no others", function()
    local p, asked = producers.module "producers", {}
    for _, options in ipairs { {}, { copy = true }, { copy = false }, { device = "rocm" }, { device = "rocm", stream = -1 },
      { device = "metal", copy = true } } do
      local x = p.Asked(py.kwargs { device = py.tuple { 10, 1 }, device_type = 10, device_id = 1 })
      pcall(xchg.from_dlpack, x, options)
      for keyword in table.concat(py.totable(x.calls), ", "):gmatch "([%w_]+)=" do asked[keyword] = true end
    end
    local told = {}
    for _, row in ipairs(rows("What a producer is asked", "keyword | when | its answer")) do
      told[spans(row[1])[1]:match "^[%w_]+"] = true
    end
    assert.same(told, asked)
  end)
end)

describe("of __array_interface__ docs/protocols.md says what is taken", function()
  local memory, make
  setup(function()
    memory = ffi.new "double[4]"
    make = dictionaries.maker("__array_interface__", memory)
  end)
  teardown(function() memory, make = nil, nil end)

  for _, row in ipairs(dictionaries.rows "Buffers and NumPy's interfaces") do
    it(row.name, function()
      assert.equal(row.expected, (outcome(xchg.asarray, make(row.fields), { protocols = { "array_interface" } })))
    end)
  end
end)

describe("of buffers docs/protocols.md has", function()
  local exporter, make
  local by_format, by_typestr = {}, {} -- by prefix and format, by type string: the dtype
  local FORMATS, TYPES = "dtype | format | format after `=` `<` | type string", "format | type string | items"
  for _, prefix in ipairs { "", "@", "^", "=", "<", ">", "!" } do by_format[prefix] = {} end
  for _, row in ipairs(rows("Formats and type strings", FORMATS)) do
    local dtype = plain(row[1])
    for _, code in ipairs(spans(row[2])) do
      for _, prefix in ipairs { "", "@", "^" } do by_format[prefix][code] = dtype end
    end
    for _, code in ipairs(spans(row[3])) do
      for _, prefix in ipairs { "=", "<" } do
        -- Two sizes of one letter.
        by_format[prefix][code] = by_format[prefix][code] and by_format[prefix][code] .. " " .. dtype or dtype
      end
      if dtypes.get("spec", dtype).bits == 8 then by_format[">"][code], by_format["!"][code] = dtype, dtype end
    end
    for _, code in ipairs(spans(row[4])) do by_typestr[code] = dtype end
  end

  setup(function()
    py.exec [[import sys; sys.path.insert(0, "spec/support")]]
    exporter = py.import "exporter"
    make = dictionaries.maker("__array_interface__", ffi.new "double[4]")
  end)
  teardown(function()
    exporter.fields_of:clear()
    py.exec [==[sys.path.remove("spec/support"); del sys.modules["exporter"]]==]
    exporter, make = nil, nil
  end)

  local SIZES = { 1, 2, 3, 4, 8, 16 }
  local function of_buffer(format, size)
    return outcome(xchg.from_buffer, exporter.export(py.kwargs { format = format, itemsize = size, length = 8 * size }))
  end
  local function of_typestr(typestr)
    return outcome(doors.from_array_interface, make(('{"shape": (0,), "typestr": r"""%s"""}'):format(typestr)), nil, 0, false)
  end

  it("every format of every prefix, and no other", function()
    for prefix, told in pairs(by_format) do
      for first = 33, 126 do
        for second = 32, first == ("Z"):byte() and 126 or 32 do
          local code = string.char(first) .. (second > 32 and string.char(second) or "")
          local found = {}
          for _, size in ipairs(SIZES) do
            local dtype = of_buffer(prefix .. code, size)
            if is_dtype[dtype] then found[#found + 1] = dtype end
          end
          assert.equal(told[code], found[1] and table.concat(found, " "), prefix .. code)
        end
      end
    end
    assert.equal("uint8", of_buffer(py.None, 1))
  end)

  it("every type string in both orders, and no other", function()
    for kind = 33, 126 do
      for _, size in ipairs(SIZES) do
        local code = string.char(kind) .. size
        for _, order in ipairs { "<", "=", "|" } do
          local dtype = of_typestr(order .. code)
          assert.equal(by_typestr[code] or "unsupported_dtype", dtype, order .. code)
        end
        local dtype = of_typestr(">" .. code)
        assert.equal(size == 1 and by_typestr[code] or "unsupported_dtype", dtype, ">" .. code)
      end
    end
  end)

  it("a word for what others are", function()
    local named = { B = true } -- letters; items of another size than a byte's are none either
    for _, row in ipairs(rows("Formats and type strings", TYPES)) do
      local words = row[3]:match "^what" and "pass the option dtype" or row[3]
      for _, format in ipairs(spans(row[1])) do
        local code, message = of_buffer(format, 4)
        assert.equal("unsupported_dtype", code, format)
        assert.truthy(message:find(words, 1, true), message)
        if not format:find "^Z" then named[format:match "%D"] = true end
      end
      for _, typestr in ipairs(spans(row[2])) do
        local code, message = of_typestr("<" .. typestr)
        assert.equal("unsupported_dtype", code, typestr)
        assert.truthy(message:find(words, 1, true), message)
      end
    end
    for first = 33, 126 do
      local code = string.char(first)
      local dtype, message = of_buffer(code, 4)
      if not is_dtype[dtype] and not message:find("means items of", 1, true) then
        assert.equal(not named[code], message:find(" is none ", 1, true) ~= nil, message)
      end
    end
  end)
end)

describe("of numbers and sequences docs/protocols.md says what becomes of", function()
  local ns
  setup(function()
    ns = py.exec("from fractions import Fraction\ndef boxed(source): return [eval(source)]", {})
  end)
  teardown(function() ns = nil end)

  -- As an object: numbers alone would come as Lua's own.
  local function object(source) return py.get(py.get(ns, "boxed")(source), 0) end

  for _, row in ipairs(rows("Numbers and sequences", "it is | if | such as | the tensor")) do
    for _, source in ipairs(spans(row[3])) do
      it(source, function()
        local code, _, e = outcome(function()
          local t = xchg.asarray(object(source))
          assert.equal(row[1] == "a number" and 0 or 1, t.ndim)
          return t
        end)
        assert.equal(row[1] == "neither" and plain(row[4]) or nil, e and code)
      end)
    end
  end

  for _, row in ipairs(rows("Numbers and sequences", "numbers | such as | dtype")) do
    for _, source in ipairs(spans(row[2])) do
      it(source, function() assert.equal(plain(row[3]), (outcome(xchg.asarray, object(source)))) end)
    end
  end

  for _, row in ipairs(rows("Numbers and sequences", "numbers | such as |")) do
    for source, dtype in row[2]:gmatch "`([^`]+)` as `([^`]+)`" do
      it(source .. " as " .. dtype, function()
        local expected = row[3]:find "^stored" and dtype or plain(row[3])
        assert.equal(expected, (outcome(xchg.asarray, object(source), { dtype = dtype })))
      end)
    end
  end
end)
