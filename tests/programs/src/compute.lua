-- Lua and LuaJIT: tables, strings, closures, coroutines.
local counted = os.getenv('COUNTED')
if counted then local mark = io.open(counted, 'a') mark:write('once\n') mark:close() end
local table_of, sum = {}, 0
local size = tonumber(arg[1] or 1000000)
for i = 1, size do local key = i % 3000 table_of[key] = (table_of[key] or 0) + i end
local routine = coroutine.wrap(function() for i = 1, 200000 do coroutine.yield(i) end end)
for _ = 1, 200000 do sum = (sum * 31 + routine()) % 1000003 end
local text = {}
for i = 1, 50000 do text[#text + 1] = tostring(i) end
print(table_of[7], sum, #table.concat(text), select(2, table.concat(text):gsub('1', '1')))
os.exit(8)
