"""Linear systems and singular values (LAPACK), then a Fourier transform."""
import sys
import numpy
draw = numpy.random.RandomState(3)
size = int(sys.argv[1])
matrix = draw.rand(size, size)
print(numpy.linalg.solve(matrix, draw.rand(size)).sum(), numpy.linalg.svd(matrix[:size // 3], compute_uv=False)[0])
print(abs(numpy.fft.fft2(draw.rand(1024, 1024))).sum())
