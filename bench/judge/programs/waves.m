% Octave: eigenvalues, filters and a loop.
rand("twister", 1);
a = rand(420);
e = eig(a);
s = filter([1 2 1] / 4, [1 -0.5 0.2], rand(1, 3e6));
t = 0;
for i = 1:600000
  t = t + mod(i * i, 7);
end
printf("%g %g %g\n", abs(e(1)), sum(s), t);
