% Octave: matrices, a solved system, strings.
counted = getenv('COUNTED');
if (! isempty(counted))
  mark = fopen(counted, 'a');
  fprintf(mark, 'once\n');
  fclose(mark);
end
a = mod(reshape((1:90000) * 7919, 300, 300), 97) + 300 * eye(300);
printf('%.6f %d\n', sum(a \ ones(300, 1)), sum(mod(cumsum(1:100000), 7)));
exit(25);
