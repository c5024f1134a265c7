set terminal pngcairo size 1400,1000
set isosamples 180
set samples 180
set hidden3d
set contour both
splot sin(x) * cos(y) + 0.2 * sin(3 * x) with lines
set pm3d
splot sin(sqrt(x * x + y * y)) with pm3d
