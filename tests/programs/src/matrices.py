"""Python with NumPy: products of matrices, sorting, transforms."""
import os

import numpy

if os.environ.get('COUNTED'):
    with open(os.environ['COUNTED'], 'a') as mark:
        mark.write('once\n')
a = (numpy.arange(160000, dtype=numpy.float64) % 97).reshape(400, 400)
b = a.T.copy()
for _ in range(6):
    a = (a @ b) % 101
values = (numpy.arange(600000, dtype=numpy.int64) * 7919) % 1000003
values.sort()
print(int(a.sum()), int(values[1234]), int(abs(numpy.fft.rfft(values[:65536] % 256)[0])))
