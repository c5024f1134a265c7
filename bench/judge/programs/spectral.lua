-- Spectral norm of an infinite matrix, arrays of numbers.
local n = tonumber(arg[1])
local function a(i, j) return 1 / ((i + j) * (i + j + 1) // 2 + i + 1) end
local function times(v, transposed)
	local r = {}
	for i = 0, n - 1 do
		local s = 0
		for j = 0, n - 1 do s = s + (transposed and a(j, i) or a(i, j)) * v[j] end
		r[i] = s
	end
	return r
end
local u = {}
for i = 0, n - 1 do u[i] = 1 end
local v
for _ = 1, 5 do
	v = times(times(u), true)
	u = times(times(v), true)
end
local top, bottom = 0, 0
for i = 0, n - 1 do top = top + u[i] * v[i]; bottom = bottom + v[i] * v[i] end
print(math.sqrt(top / bottom))
