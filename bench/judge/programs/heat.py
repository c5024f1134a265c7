"""Heat over a plate: whole-array arithmetic of NumPy."""
import sys
import numpy
plate = numpy.zeros((1200, 1200))
plate[0], plate[:, 0] = 100, 50
for _ in range(int(sys.argv[1])):
    plate[1:-1, 1:-1] = 0.25 * (plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:])
print(plate.sum())
